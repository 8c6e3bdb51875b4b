"""What notes, events and samples may be: the same for every engine."""

from __future__ import annotations

from typing import Any

import pytest

from penstock.engine import JobEvent, Sample
from penstock.engine.counting import MAX_MEASURES, MAX_SAMPLES, sums_of
from penstock.engine.feeding import EVENTS, MAX_EVENT_BYTES, MAX_EVENTS, check_events, has_gap
from penstock.engine.notes import MAX_NOTE_BYTES, check_note
from penstock.model.errors import InvalidOption

EVENT = JobEvent("added", "job", "mail", "app.send", "ana", '{"attempt":1}')


def keep(kind: str = "token", key: str = "k", body: str = "{}", **more: Any) -> None:
    check_note(kind, key, body, more.get("ttl"), more.get("expect"))


@pytest.mark.parametrize(
    "note",
    [
        {"kind": "a"},
        {"kind": "follow-token-2"},
        {"kind": "x" * 40},
        {"key": "a b:{c} 日本\U0001f600"},
        {"key": "x" * 200},
        {"body": '"' + "x" * (MAX_NOTE_BYTES - 2) + '"'},
        {"body": "null"},
        {"ttl": 0.1},
        {"ttl": 60, "expect": 0},
        {"expect": 2**40},
    ],
    ids=lambda note: str(note)[:40],
)
def test_a_note_may_be(note: dict[str, Any]) -> None:
    keep(**note)


@pytest.mark.parametrize(
    "note",
    [
        {"kind": ""},
        {"kind": "Token"},
        {"kind": "a:b"},
        {"kind": "1a"},
        {"kind": "x" * 41},
        {"kind": "token\n"},
        {"kind": None},
        {"key": ""},
        {"key": "x" * 201},
        {"key": "a\x00b"},
        {"key": "a\nb"},
        {"key": "a\x85b"},
        {"key": "\ud800"},
        {"key": 7},
        {"body": ""},
        {"body": "{"},
        {"body": "NaN"},
        {"body": '"a\x00"'},
        {"body": '"\ud800"'},
        {"body": '"' + "x" * (MAX_NOTE_BYTES - 1) + '"'},
        {"body": '"' + "é" * (MAX_NOTE_BYTES // 2) + '"'},
        {"body": b"{}"},
        {"ttl": 0},
        {"ttl": -1},
        {"ttl": float("nan")},
        {"ttl": float("inf")},
        {"expect": -1},
        {"expect": True},
    ],
    ids=lambda note: str(note)[:40],
)
def test_a_note_may_not_be(note: dict[str, Any]) -> None:
    with pytest.raises(InvalidOption):
        keep(**note)


@pytest.mark.parametrize(
    "change",
    [
        *({"event": event} for event in sorted(EVENTS)),
        {"owner": None},
        {"owner": "größe\n"},
        {"body": "{}"},
        {"body": '{"x":"' + "x" * (MAX_EVENT_BYTES - 8) + '"}'},
    ],
    ids=lambda change: str(change)[:40],
)
def test_an_event_may_be(change: dict[str, Any]) -> None:
    check_events([EVENT._replace(**change)])


@pytest.mark.parametrize(
    "change",
    [
        {"event": "exploded"},
        {"job_id": ""},
        {"job_id": "x" * 300},
        {"queue": "a b"},
        {"task": ""},
        {"owner": ""},
        {"owner": "a\x00b"},
        {"body": "[]"},
        {"body": "{"},
        {"body": '{"x":"' + "x" * MAX_EVENT_BYTES + '"}'},
    ],
    ids=lambda change: str(change)[:40],
)
def test_an_event_may_not_be(change: dict[str, Any]) -> None:
    with pytest.raises(InvalidOption):
        check_events([EVENT, EVENT._replace(**change)])


def test_so_many_events_are_published_at_once_and_no_more() -> None:
    check_events([EVENT] * MAX_EVENTS)
    with pytest.raises(InvalidOption, match="at most 1,000 events"):
        check_events([EVENT] * (MAX_EVENTS + 1))


def test_samples_of_the_same_task_are_added_up_in_the_order_of_names() -> None:
    samples = [Sample("b", "t", {"n": 1}), Sample("a", "u", {"n": 1}), Sample("b", "t", {"n": 0.5, "m": 2})]
    assert list(sums_of(samples).items()) == [(("a", "u"), {"n": 1}), (("b", "t"), {"n": 1.5, "m": 2})]
    assert sums_of([Sample("a", "t", {})]) == {}


@pytest.mark.parametrize(
    "sample",
    [
        Sample("a b", "t", {"n": 1}),
        Sample("q", "", {"n": 1}),
        Sample("q", "t", {"N": 1}),
        Sample("q", "t", {"": 1}),
        Sample("q", "t", {"a b": 1}),
        Sample("q", "t", {"a=b": 1}),
        Sample("q", "t", {"n" * 41: 1}),
        Sample("q", "t", {"n": -1}),
        Sample("q", "t", {"n": float("nan")}),
        Sample("q", "t", {"n": float("inf")}),
        Sample("q", "t", {"n": True}),
        Sample("q", "t", {f"n{i}": 1 for i in range(MAX_MEASURES + 1)}),
    ],
    ids=lambda sample: str(sample)[:40],
)
def test_a_sample_may_not_be(sample: Sample) -> None:
    with pytest.raises(InvalidOption):
        sums_of([sample])


def test_so_many_samples_are_counted_at_once_and_no_more() -> None:
    with pytest.raises(InvalidOption, match="at most 1,000 samples"):
        sums_of([Sample("q", "t", {"n": 1})] * (MAX_SAMPLES + 1))


@pytest.mark.parametrize(
    ("after", "dropped", "gap"),
    [
        (0, 100, False),
        (0, 101, True),
        (99, 100, True),
        (100, 100, False),
        (150, 100, False),
        (151, 100, True),
    ],
)
def test_a_number_outside_of_what_is_kept_is_a_gap(after: int, dropped: int, gap: bool) -> None:
    assert has_gap(after, first=100, last=150, dropped=dropped) is gap
