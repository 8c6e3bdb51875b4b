"""Flows at the front door: what they hold, what they refuse, and how they run."""

from __future__ import annotations

import asyncio

import pytest

from penstock import (
    CalledInLoop,
    Context,
    Disabled,
    InvalidOption,
    JobFailed,
    NoOp,
    Penstock,
    State,
    SyncContext,
    Unrecoverable,
    ValueTooLarge,
)
from penstock.model.errors import EngineUnavailable
from penstock.model.job import Edge
from penstock.tasks import flow as flows
from penstock.testing import sandbox


class Course:
    """An app that makes courses; `broken` names the modules that cannot be made."""

    def __init__(self) -> None:
        self.app = app = Penstock("sqlite://:memory:")
        self.broken: set[int] = set()
        self.made: list[str] = []
        self.open = True

        @app.task
        async def outline(course: int) -> list[int]:
            self.made.append("outline")
            return [1, 2, 3]

        @app.task
        def lesson(ctx: SyncContext, module: int) -> str:
            self.made.append(f"lesson {module}")
            if module in self.broken:
                raise Unrecoverable("no such module")
            return f"lesson {module} of {len(ctx.results_of(outline)[0])}"

        @app.task
        async def exam(ctx: Context, course: int) -> list[str]:
            self.made.append("exam")
            found = await ctx.upstream()
            return [str(job.result or job.state) for job in found]

        @app.task(enabled=lambda: self.open)
        async def gated() -> None: ...

        self.outline, self.lesson, self.exam, self.gated = outline, lesson, exam, gated


@pytest.fixture
def course() -> Course:
    return Course()


# -- building -----------------------------------------------------------------------------------------


def test_a_flow_prints_as_a_tree(course: Course) -> None:
    flow = course.app.flow("course-42")
    outline = flow.add(course.outline.call(course=42))
    lessons = [flow.add(course.lesson.call(module=m), after=[outline]) for m in (1, 2)]
    flow.add(course.exam.call(course=42), after=lessons)
    assert (
        str(flow)
        == """\
course-42
└─ outline
   ├─ lesson
   ├─ lesson
   └─ exam  (after 2 × lesson)"""
    )
    assert repr(flow) == "<flow 'course-42' of 4 jobs>"
    assert repr(outline) == "<node outline of flow 'course-42'>"


def test_an_empty_flow_is_refused(course: Course) -> None:
    with pytest.raises(InvalidOption, match=r"'course-42' is empty; add\(\)"):
        course.app.flow("course-42").enqueue()


def test_a_flow_of_too_many_jobs_is_refused(course: Course, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(flows, "MAX_JOBS", 2)
    flow = course.app.flow("course-42")
    for module in range(3):
        flow.add(course.lesson.call(module=module))
    with pytest.raises(InvalidOption, match="has 3 jobs; it can have 2"):
        flow.enqueue()


def test_a_flow_of_too_many_bytes_is_refused(course: Course, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(flows, "MAX_BYTES", 20)
    flow = course.app.flow("course-42")
    for module in range(3):
        flow.add(course.lesson.call(module=module))
    with pytest.raises(ValueTooLarge, match="over the limit of 20"):
        flow.enqueue()


def test_a_job_comes_only_after_what_the_same_flow_has(course: Course) -> None:
    one, two = course.app.flow("one"), course.app.flow("two")
    outline = one.add(course.outline.call(course=1))
    with pytest.raises(InvalidOption, match=r"not in flow 'two'; include\(\)"):
        two.add(course.lesson.call(module=1), after=[outline])
    with pytest.raises(InvalidOption, match=r"takes what add\(\)"):
        one.add(course.lesson.call(module=1), after=[course.outline.call(course=1)])  # type: ignore[list-item]


def test_an_unknown_rule_is_refused_and_the_rules_are_named(course: Course) -> None:
    flow = course.app.flow("one")
    outline = flow.add(course.outline.call(course=1))
    with pytest.raises(InvalidOption, match="'skip' is unknown; use fail, continue, ignore, wait"):
        flow.add(course.lesson.call(module=1), after=[outline], on_failure="skip")  # type: ignore[arg-type]


def test_the_same_call_is_added_once(course: Course) -> None:
    flow = course.app.flow("one")
    call = course.outline.call(course=1)
    flow.add(call)
    with pytest.raises(InvalidOption, match="one call"):
        flow.add(call)


def test_what_is_no_call_or_no_list_of_nodes_is_refused(course: Course) -> None:
    flow = course.app.flow("f")
    node = flow.add(course.outline.call(course=1))
    with pytest.raises(InvalidOption, match=r"task\.call\("):
        flow.add(course.outline)  # type: ignore[arg-type]
    for wrong in (node, 5):
        with pytest.raises(InvalidOption, match="takes a list"):
            flow.add(course.exam.call(course=1), after=wrong)  # type: ignore[arg-type]


def test_a_call_that_was_enqueued_already_is_refused(course: Course) -> None:
    call = course.outline.call(course=1)
    flow = course.app.flow("f")
    flow.add(call)
    with course.app:
        course.app.enqueue_many([call])
        with pytest.raises(InvalidOption, match="enqueued already"):
            flow.enqueue()


def test_a_call_is_in_one_flow_only(course: Course) -> None:
    call = course.outline.call(course=1)
    one, other = course.app.flow("one"), course.app.flow("other")
    one.add(call)
    other.add(call)
    with course.app:
        one.enqueue()
        with pytest.raises(InvalidOption, match="enqueued already"):
            other.enqueue()


def test_calls_of_another_app_are_refused(course: Course) -> None:
    flow = course.app.flow("one")
    flow.add(Course().outline.call(course=1))
    with course.app, pytest.raises(InvalidOption, match="another app"):
        flow.enqueue()


def test_each_edge_can_have_a_rule_of_its_own(course: Course) -> None:
    flow = course.app.flow("one")
    one, two = (flow.add(course.lesson.call(module=m)) for m in (1, 2))
    last = flow.add(course.exam.call(course=1), after={one: "fail", two: "ignore"})
    with course.app:
        flow.enqueue()
    ties = last.call.job.ties
    assert ties is not None
    assert ties.after == (Edge(one.call.job.id, "fail"), Edge(two.call.job.id, "ignore"))


def test_a_flow_that_is_included_begins_after_and_ends_before_the_rest(course: Course) -> None:
    inner = course.app.flow("lessons")
    first = inner.add(course.lesson.call(module=1))
    inner.add(course.lesson.call(module=2), after=[first])
    inner.add(course.lesson.call(module=3), after=[first])
    flow = course.app.flow("course")
    outline = flow.add(course.outline.call(course=1))
    ends = flow.include(inner, after=[outline])
    flow.add(course.exam.call(course=1), after=ends)
    assert (
        str(flow)
        == """\
course
└─ outline
   └─ lesson
      ├─ lesson
      ├─ lesson
      └─ exam  (after 2 × lesson)"""
    )
    with pytest.raises(InvalidOption, match="part of flow 'course'"):
        inner.enqueue()
    with pytest.raises(InvalidOption, match="part of flow 'course'"):
        flow.include(inner)
    with pytest.raises(InvalidOption, match="itself"):
        flow.include(flow)
    with pytest.raises(InvalidOption, match="'nothing' is empty"):
        flow.include(course.app.flow("nothing"))


def test_an_enqueued_flow_takes_no_more_jobs(course: Course) -> None:
    flow = course.app.flow("one")
    flow.add(course.outline.call(course=1))
    with sandbox(course.app):
        flow.enqueue()
    with pytest.raises(InvalidOption, match="has been enqueued"):
        flow.add(course.outline.call(course=2))


async def test_the_sync_twin_refuses_inside_a_loop(course: Course) -> None:
    flow = course.app.flow("one")
    flow.add(course.outline.call(course=1))
    with pytest.raises(CalledInLoop, match="aenqueue"):
        flow.enqueue()


# -- running ------------------------------------------------------------------------------------------


def whole(course: Course, **rule: str) -> tuple[flows.Flow, list[flows.Node[str]], flows.Node[list[str]]]:
    flow = course.app.flow("course-42")
    outline = flow.add(course.outline.call(course=42))
    lessons = [flow.add(course.lesson.call(module=m), after=[outline]) for m in (1, 2, 3)]
    return flow, lessons, flow.add(course.exam.call(course=42), after=lessons, **rule)  # type: ignore[arg-type]


async def test_a_flow_runs_in_order_and_hands_results_on(course: Course) -> None:
    flow, lessons, exam = whole(course)
    async with sandbox(course.app) as box:
        handle = await flow.aenqueue()
        assert (handle.id, handle.name) == (flow.id, "course-42")
        assert [job.state for job in handle.jobs] == [State.WAITING, *[State.BLOCKED] * 4]
        assert await box.adrain() == 5
        assert course.made[0] == "outline"
        assert course.made[4] == "exam"
        assert await handle[exam].aresult() == ["lesson 1 of 3", "lesson 2 of 3", "lesson 3 of 3"]
        assert await handle[lessons[1]].aresult() == "lesson 2 of 3"


@pytest.mark.parametrize(
    ("rule", "state"), [("fail", State.CANCELLED), ("ignore", State.COMPLETED), ("wait", State.BLOCKED)]
)
async def test_what_becomes_of_a_job_whose_upstream_fails(course: Course, rule: str, state: State) -> None:
    course.broken = {2}
    flow, _, exam = whole(course, on_failure=rule)
    async with sandbox(course.app) as box:
        handle = await flow.aenqueue()
        await box.adrain()
        assert (await handle[exam].arefresh()).state is state
        if rule == "ignore":
            assert await handle[exam].aresult() == ["lesson 1 of 3", "failed", "lesson 3 of 3"]


async def test_one_that_waits_goes_on_with_the_result_of_the_recovered_job(course: Course) -> None:
    course.broken = {2}
    flow, lessons, exam = whole(course, on_failure="wait")
    async with sandbox(course.app) as box:
        handle = await flow.aenqueue()
        await box.adrain()
        course.broken = set()
        await course.app.ops.recover(handle[lessons[1]].id, {"module": 7})
        await box.adrain()
        assert (await handle[exam].aresult())[1].startswith("lesson 7")


async def test_enqueueing_a_flow_twice_is_enqueueing_it_once(course: Course) -> None:
    flow, _, _ = whole(course)
    async with sandbox(course.app) as box:
        first, second = await flow.aenqueue(), await flow.aenqueue()
        assert [job.id for job in first.jobs] == [job.id for job in second.jobs]
        assert len(await box.ajobs()) == 5


async def test_a_flow_whose_reply_was_lost_can_be_enqueued_again(course: Course) -> None:
    flow, _, _ = whole(course)
    async with sandbox(course.app) as box:
        real = course.app.engine.enqueue

        async def fails(*_: object, **__: object) -> None:
            raise EngineUnavailable("away")

        course.app.engine.enqueue = fails  # type: ignore[method-assign, assignment]
        with pytest.raises(EngineUnavailable):
            await flow.aenqueue()
        course.app.engine.enqueue = real  # type: ignore[method-assign]
        await flow.aenqueue()
        assert len(await box.ajobs()) == 5


async def test_a_large_flow_goes_in_one_call(course: Course, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("penstock.tasks.gather.MAX_BATCH", 10)
    flow = course.app.flow("large")
    outline = flow.add(course.outline.call(course=1))
    for module in range(50):
        flow.add(course.lesson.call(module=module), after=[outline])
    async with sandbox(course.app):
        sizes: list[int] = []
        real = course.app.engine.enqueue

        async def counted(jobs: list[object], **more: bool) -> object:
            sizes.append(len(jobs))
            return await real(jobs, **more)  # type: ignore[arg-type]

        course.app.engine.enqueue = counted  # type: ignore[method-assign, assignment]
        await flow.aenqueue()
        assert sizes == [51]


@pytest.mark.parametrize("many", [3, 30])
async def test_however_many_a_job_has_waited_for_their_results_come_in_order(
    course: Course, many: int
) -> None:
    flow = course.app.flow("large")
    outline = flow.add(course.outline.call(course=1))
    lessons = [flow.add(course.lesson.call(module=m), after=[outline]) for m in range(many)]
    exam = flow.add(course.exam.call(course=1), after=lessons[::-1])
    async with sandbox(course.app) as box:
        handle = await flow.aenqueue()
        await box.adrain()
        assert await handle[exam].aresult() == [f"lesson {m} of 3" for m in reversed(range(many))]


async def test_results_leave_out_who_had_nothing_to_do_and_tell_of_a_result_that_was_dropped(
    course: Course,
) -> None:
    app = course.app

    @app.task
    async def part(how: str) -> str:
        if how == "nothing":
            raise NoOp("deleted")
        return "x" * 300_000 if how == "much" else how

    @app.task(retry="none")
    async def join(ctx: Context) -> list[str]:
        return await ctx.results_of(part)

    async with sandbox(app) as box:
        ends = []
        for ways in (("a", "nothing", "b"), ("a", "much")):
            flow = app.flow("parts")
            last = flow.add(join.call(), after=[flow.add(part.call(how=how)) for how in ways])
            ends.append((await flow.aenqueue())[last])
        await box.adrain()
        assert await ends[0].aresult() == ["a", "b"]
        with pytest.raises(JobFailed, match="ResultDropped"):
            await ends[1].aresult()


async def test_a_closed_gate_refuses_the_whole_flow(course: Course) -> None:
    course.open = False
    flow = course.app.flow("one")
    flow.add(course.outline.call(course=1))
    flow.add(course.gated.call())
    async with sandbox(course.app) as box:
        with pytest.raises(Disabled):
            await flow.aenqueue()
        assert await box.ajobs() == []


async def test_a_member_with_a_taken_key_is_the_holder(course: Course) -> None:
    flow = course.app.flow("one")
    async with sandbox(course.app) as box:
        held = await course.outline.using(key="k").aenqueue(course=1)
        outline = flow.add(course.outline.using(key="k").call(course=1))
        exam = flow.add(course.exam.call(course=1), after=[outline])
        handle = await flow.aenqueue()
        assert (handle[outline].id, handle[outline].duplicate) == (held.id, True)
        await box.adrain()
        assert await handle[exam].aresult() == ["[1, 2, 3]"]


async def test_a_job_outside_a_flow_has_nothing_upstream(course: Course) -> None:
    async with sandbox(course.app) as box:
        job = await course.exam.aenqueue(course=1)
        await box.adrain()
        assert await job.aresult() == []


def test_flows_work_from_programs_without_a_loop(course: Course) -> None:
    flow, _, exam = whole(course)
    with sandbox(course.app) as box:
        handle = flow.enqueue()
        assert box.drain() == 5
        assert len(handle[exam].result()) == 3


async def test_two_flows_at_once_do_not_mix(course: Course) -> None:
    async with sandbox(course.app) as box:
        pairs = [whole(course) for _ in range(3)]
        handles = await asyncio.gather(*(flow.aenqueue() for flow, _, _ in pairs))
        await box.adrain()
        for (_, _, exam), handle in zip(pairs, handles, strict=True):
            found = await course.app.engine.flow(handle.id)
            assert found is not None
            assert (len(found.jobs), found.unfinished) == (5, 0)
            assert len(await handle[exam].aresult()) == 3
