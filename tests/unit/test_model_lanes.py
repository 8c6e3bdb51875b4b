"""The names of lanes say what kind they are."""

import pytest

from penstock.model.lanes import (
    group_name,
    group_of,
    is_limited,
    is_parked,
    key_of,
    limited_lane,
    misfits_of,
    parked_lane,
    queue_of,
)
from penstock.model.outcome import Park

KEYS = ["tenant-7", "a>b", "a?b", "100%", "%3F", "ä€", ">", "?", "%25"]


def test_an_open_lane_is_its_queue():
    assert (group_of("email"), queue_of("email"), key_of("email")) == ("email", "email", None)
    assert not is_parked("email")
    assert not is_limited("email")


def test_a_parked_lane_is_in_the_group_of_its_queue():
    lane = parked_lane("email", Park("send", "unknown", "v1,v2"))
    assert (group_of(lane), queue_of(lane), key_of(lane)) == ("email", "email", None)
    assert is_parked(lane)
    assert not is_limited(lane)
    assert misfits_of(lane) == ("v1", "v2")


@pytest.mark.parametrize("group", [group_name("email", "send"), group_name("email")])
@pytest.mark.parametrize("key", KEYS)
def test_a_key_comes_back_from_its_lane(group, key):
    lane = limited_lane(group, key)
    assert (group_of(lane), queue_of(lane), key_of(lane)) == (group, "email", key)
    assert is_limited(lane)
    assert not is_parked(lane)
    assert misfits_of(lane) == ()


def test_the_lane_of_a_task_without_keys_is_its_group():
    lane = limited_lane(group_name("email", "send"))
    assert (lane, group_of(lane), key_of(lane)) == ("email>send", "email>send", None)


def test_different_keys_have_different_lanes():
    assert len({limited_lane("email>send", key) for key in KEYS}) == len(KEYS)
