"""The course pipeline: steps that make their successors, on every engine.

outline, then per module lessons and exam, then the final exam and the analysis. In order within a course, two
courses at once, two seconds between calls of the provider; keys keep every step from being made twice.
"""

from __future__ import annotations

import json
from collections import Counter
from itertools import pairwise

import pytest

from conformance.kit import Place
from penstock import Context, Penstock, Unrecoverable
from penstock.model.states import State
from penstock.testing import Box

COURSES, MODULES = (1, 2, 3), 4
PER_MODULE = [f"{step} {m}" for m in range(1, MODULES + 1) for step in ("lessons", "exam")]
STEPS = ["outline", *PER_MODULE, "final", "mastery"]


def url_of(place: Place) -> str:
    if place.kind == "memory":
        return "sqlite://:memory:"
    return f"sqlite:///{place.address}" if place.kind == "sqlite" else place.address


class Pipeline:
    """The app, and what its provider has seen."""

    def __init__(self, place: Place, clock) -> None:
        schema = {"schema": place.schema} if place.schema else {}
        self.app = Penstock(url_of(place), clock=clock, **schema)
        self.box = Box(self.app, clock)
        self.clock = clock
        self.calls: list[tuple[float, int, str]] = []  # when, course, step
        self.active = 0
        self.most = 0
        self.credits: dict[int, int] = {}
        self._declare()

    async def provider(self, course: int, step: str) -> None:
        if self.credits.get(course) == 0:
            raise Unrecoverable("insufficient credits")
        if course in self.credits:
            self.credits[course] -= 1
        self.active += 1
        self.most = max(self.most, self.active)
        self.calls.append((self.clock.now().timestamp(), course, step))
        await self.app.engine.queues()  # others get their turn
        self.active -= 1

    def _declare(self) -> None:
        app = self.app
        app.queue("course_generation_queue", rate="1/2s", max_active=2)

        @app.task(queue="course_generation_queue", key="outline:{course}")
        async def outline(ctx: Context, course: int) -> None:
            await self.provider(course, "outline")
            self.follow(ctx, module_lessons.call(course=course, module=1))

        @app.task(queue="course_generation_queue", key="module_lessons:{course}/{module}")
        async def module_lessons(ctx: Context, course: int, module: int) -> None:
            await self.provider(course, f"lessons {module}")
            self.follow(ctx, module_exam.call(course=course, module=module))

        @app.task(queue="course_generation_queue", key="module_exam:{course}/{module}")
        async def module_exam(ctx: Context, course: int, module: int) -> None:
            await self.provider(course, f"exam {module}")
            if module == MODULES:
                self.follow(ctx, final_exam.call(course=course))
            else:
                self.follow(ctx, module_lessons.call(course=course, module=module + 1))

        @app.task(queue="course_generation_queue", key="final_exam:{course}")
        async def final_exam(ctx: Context, course: int) -> None:
            await self.provider(course, "final")
            self.follow(ctx, mastery_analysis.call(course=course))

        @app.task(queue="course_generation_queue", key="mastery_analysis:{course}")
        async def mastery_analysis(course: int) -> None:
            await self.provider(course, "mastery")

        self.outline = outline

    def follow(self, ctx: Context, call) -> None:
        """Every step asks for its successor twice."""
        ctx.enqueue(call)
        ctx.enqueue(self.app.call_by_name(call.job.task, json.loads(call.job.args)))

    def steps_of(self, course: int) -> list[str]:
        return [step for _, made_for, step in self.calls if made_for == course]


@pytest.fixture
async def pipeline(place, clock):
    made = Pipeline(place, clock)
    await made.app.migrate()
    async with made.app:
        yield made


async def test_courses_go_through_their_steps_in_order_two_at_once_with_a_gap_between_calls(pipeline):
    for course in COURSES * 2:  # each is asked for twice
        await pipeline.outline.aenqueue(course=course)
    await pipeline.box.adrain(delayed=True)
    for course in COURSES:
        assert pipeline.steps_of(course) == STEPS
    jobs = await pipeline.box.ajobs()
    assert Counter(job.state for job in jobs) == {State.COMPLETED: len(COURSES) * len(STEPS)}
    assert max(Counter(job.key for job in jobs).values()) == 1
    times = [when for when, _, _ in pipeline.calls]
    assert min(b - a for a, b in pairwise(times)) > 2 - 1e-5
    assert pipeline.most <= 2
    first_third = {course for _, course, _ in pipeline.calls[: len(pipeline.calls) // 3]}
    assert first_third == set(COURSES)


async def test_a_course_out_of_credits_stops_and_nothing_comes_after(pipeline):
    pipeline.credits[2] = 4
    for course in COURSES:
        await pipeline.outline.aenqueue(course=course)
    await pipeline.box.adrain(delayed=True)
    assert pipeline.steps_of(2) == STEPS[:4]
    jobs = [job for job in await pipeline.box.ajobs() if job.args["course"] == 2]
    assert [job.state for job in jobs] == [State.COMPLETED] * 4 + [State.FAILED]
    letter = await pipeline.app.engine.dead_letter(jobs[-1].id)
    assert letter is not None
    assert letter.error["message"] == "insufficient credits"
    assert pipeline.steps_of(1) == pipeline.steps_of(3) == STEPS
