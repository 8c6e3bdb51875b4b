"""What an outbox keeps of a job is all there is of it, and time does not stand still in it."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from conformance.kit import new
from penstock.model.errors import InvalidValue
from penstock.model.job import Edge, FlowName, NewJob, Ties, Window
from penstock.outbox import parcel

texts = st.text(max_size=20)
seconds = st.floats(0, 10**6)
ties = st.builds(
    Ties,
    after=st.lists(st.builds(Edge, texts, st.sampled_from(["fail", "wait"])), max_size=3).map(tuple),
    feeds=st.booleans(),
    flow=st.none() | st.builds(FlowName, texts, texts),
    deadline=st.none() | seconds,
    at_deadline=st.sampled_from(["skip", "run", "fail"]),
    shelf=st.none() | texts,
    origin=st.none() | texts,
)
some_jobs = st.builds(
    NewJob,
    id=texts,
    queue=texts,
    task=texts,
    args=texts,
    key=texts,
    unique=st.booleans(),
    priority=st.sampled_from([1, 2, 3, 4]),
    delay=seconds,
    max_attempts=st.integers(1, 100),
    owner=st.none() | texts,
    expire_after=st.none() | seconds,
    options=st.none() | texts,
    lane=st.none() | texts,
    window=st.builds(Window, st.sampled_from(["record", "period", "debounce"]), seconds),
    ties=st.none() | ties,
    order=st.none(),
)


@given(st.lists(some_jobs, min_size=1, max_size=4))
def test_jobs_come_back_from_a_row_as_they_were(jobs: list[NewJob]) -> None:
    assert parcel.read(parcel.write(jobs), 0.0) == jobs


@given(some_jobs, seconds)
def test_a_job_is_due_and_expires_when_it_would_have_without_the_outbox(job: NewJob, age: float) -> None:
    [late] = parcel.read(parcel.write([job]), age)
    assert late.delay + age == pytest.approx(max(job.delay, age))
    if job.expire_after is not None:
        whole = job.delay + job.expire_after
        assert late.expire_after is not None
        assert age + late.delay + late.expire_after == pytest.approx(max(whole, age))


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{",
        "[]",
        "17",
        '"text"',
        "[null]",
        "[[]]",
        '[{"id": "x"}]',
        '[{"window": 1}]',
        json.dumps([{"id": "a", "queue": "q", "task": "t", "from_the_future": 1}]),
        json.dumps([{"id": "a", "queue": "q", "task": "t", "ties": {"after": [list("abcdefgh")]}}]),
    ],
)
def test_a_row_that_cannot_be_read_says_so(text: str) -> None:
    with pytest.raises(InvalidValue, match="the row cannot be read"):
        parcel.read(text, 0.0)


def test_a_row_of_a_plain_job_holds_only_what_is_not_usual() -> None:
    job = new(args='{"a":1}')
    assert json.loads(parcel.write([job])) == [
        {"id": job.id, "queue": "default", "task": "app.work", "args": '{"a":1}', "key": job.id}
    ]
