"""Names, ids, lanes and priorities: what is allowed, and in which order it sorts."""

import uuid
from datetime import UTC, datetime
from enum import StrEnum

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.model.errors import InvalidOption
from penstock.model.ids import COUNTER_BITS, RANDOM_BITS, is_id, uuid7
from penstock.model.lanes import MOST_MISFITS, is_parked, misfits, misfits_of, parked_lane
from penstock.model.names import check_name, check_schema, check_text
from penstock.model.outcome import Park
from penstock.model.priority import HEAD_START, Priority

parts = st.tuples(
    st.integers(0, 2**48 - 1), st.integers(0, 2**COUNTER_BITS - 1), st.integers(0, 2**RANDOM_BITS - 1)
)


@given(parts)
def test_an_id_is_a_version_7_uuid_that_tells_its_time(given_parts):
    text = uuid7(*given_parts)
    read = uuid.UUID(text)
    assert is_id(text)
    assert str(read) == text
    assert (read.version, read.variant) == (7, uuid.RFC_4122)
    assert read.int >> 80 == given_parts[0]


@given(parts, parts)
def test_ids_sort_as_text_by_time_then_counter_then_chance(one, two):
    assert (uuid7(*one) < uuid7(*two)) == (one < two)


GOOD_ID = "0190a000-000a-7000-8000-00000000000f"


@pytest.mark.parametrize(
    "text", ["", "x", GOOD_ID.upper(), GOOD_ID + "\n", GOOD_ID[:-1], GOOD_ID.replace("-", "")]
)
def test_an_id_is_written_in_one_way_only(text):
    assert is_id(GOOD_ID)
    assert not is_id(text)


@pytest.mark.parametrize("name", ["a", "_", "0", "app.tasks.send-receipt_2", "x" * 128])
def test_names_need_no_quoting(name):
    assert check_name("queue", name) == name


@pytest.mark.parametrize(
    "name", ["", ".a", "-a", "a b", "a:b", "a{b}", "a?b", "é", "a\n", "a'b", "x" * 129, None, 3]
)
def test_other_names_are_refused(name):
    with pytest.raises(InvalidOption, match="queue name"):
        check_name("queue", name)


@pytest.mark.parametrize("name", ["penstock", "_a1", "x" * 48])
def test_schemas_are_plain_identifiers(name):
    assert check_schema(name) == name


@pytest.mark.parametrize("name", ["", "1a", "A", "a-b", 'a"b', "a\n", "x" * 49, None])
def test_other_schemas_are_refused(name):
    with pytest.raises(InvalidOption, match="schema"):
        check_schema(name)


@pytest.mark.parametrize("text", ["x", "receipt:7", "日本 'quoted' \n", "x" * 255])
def test_keys_and_owners_are_any_text(text):
    assert check_text("key", text) == text


@pytest.mark.parametrize("text", ["", "x" * 256, "a\x00b", "a\ud800", None, 7])
def test_text_that_some_engine_cannot_store_is_refused(text):
    with pytest.raises(InvalidOption, match="key"):
        check_text("key", text)


def test_a_parked_lane_is_named_by_queue_task_and_misfit():
    unknown, unfit = parked_lane("q", Park("t", "why")), parked_lane("q", Park("t", "why", "v1"))
    assert (
        len({unknown, unfit, parked_lane("q", Park("t", "why", "v2")), parked_lane("p", Park("t", "why"))})
        == 4
    )
    assert is_parked(unknown)
    assert is_parked(unfit)
    assert not is_parked("q")


def test_a_parked_lane_remembers_the_latest_signatures_that_did_not_fit():
    lane = parked_lane("q", Park("t", "why"))
    assert misfits_of(lane) == misfits_of("q") == ()
    assert misfits("q") is None
    for n in range(MOST_MISFITS + 2):
        lane = parked_lane("q", Park("t", "why", misfits(lane, f"v{n}")))
    assert misfits_of(lane) == tuple(f"v{n}" for n in range(2, MOST_MISFITS + 2))
    assert misfits(lane, "v5") == ",".join([*(v for v in misfits_of(lane) if v != "v5"), "v5"])
    assert misfits(lane) == ",".join(misfits_of(lane))


def test_priorities_have_the_documents_numbers():
    assert {p.name.lower(): p.value for p in Priority} == {"critical": 1, "high": 2, "medium": 3, "low": 4}


@pytest.mark.parametrize("given_as", ["high", "HIGH", 2, Priority.HIGH])
def test_a_priority_is_read_by_name_or_number(given_as):
    assert Priority.of(given_as) is Priority.HIGH


@pytest.mark.parametrize("wrong", ["urgent", 0, 5, ""])
def test_an_unknown_priority_names_those_there_are(wrong):
    with pytest.raises(InvalidOption, match="critical, high, medium, low"):
        Priority.of(wrong)


def test_head_starts_fall_with_the_priority_and_are_bounded_so_that_low_is_late_and_never_starved():
    starts = [HEAD_START[p] for p in sorted(Priority)]
    assert starts == sorted(starts, reverse=True)
    assert len(set(starts)) == 4
    assert HEAD_START[Priority.MEDIUM] == 0
    assert starts[0] - starts[-1] == 15 * 60


def test_the_fake_clock_stands_still_until_it_is_moved():
    from penstock.model.clock import EngineClock, FakeClock

    clock = FakeClock(datetime(2026, 1, 1, tzinfo=UTC))
    assert clock.now() == clock.now() == datetime(2026, 1, 1, tzinfo=UTC)
    assert clock.advance(1.5, minutes=2) == clock.now() == datetime(2026, 1, 1, 0, 2, 1, 500_000, tzinfo=UTC)
    assert EngineClock().now() is None


def test_a_text_of_a_kind_of_its_own_becomes_plain_text() -> None:
    class Tenant(StrEnum):
        ANA = "ana"

    told = check_text("owner", Tenant.ANA)
    assert (type(told), told) == (str, "ana")
