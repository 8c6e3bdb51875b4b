"""What a blocked job waits for."""

from __future__ import annotations

from collections.abc import Iterator

from penstock.model.spans import moment
from penstock.model.states import State
from penstock.why.causes import Because, Cause
from penstock.why.scene import Scene, Upstream


def blocked(scene: Scene) -> Iterator[Cause]:
    """One cause for each job or tick that it waits for; those that need somebody's hand come first."""
    if not scene.upstreams:
        yield _cause(scene, f"It waits for {', '.join(scene.job.blocked_by) or 'other jobs'}.", "flows")
    for upstream in sorted(scene.upstreams, key=lambda found: not _needs_hands(found)):
        text, following = _told(scene, upstream)
        yield _cause(scene, text, following, upstream.id)
    more = len(scene.job.blocked_by) - len(scene.upstreams)
    if scene.upstreams and more > 0:
        yield _cause(scene, f"It waits for {more:,} jobs more.", f"job {scene.job.id}")


def _cause(scene: Scene, text: str, following: str, *jobs: str) -> Cause:
    deadline = scene.job.deadline_at
    until = f" It waits until {moment(deadline, scene.now)}, at most." if deadline else ""
    return Cause(because=Because.BLOCKED, text=text + until, next=following, until=deadline, jobs=jobs)


def _needs_hands(upstream: Upstream) -> bool:
    ended = upstream.job is not None and upstream.job.state.finished
    return ended or upstream.schedule_paused


def _told(scene: Scene, upstream: Upstream) -> tuple[str, str]:
    job = upstream.job
    if job is None:
        return _missing(scene, upstream)
    made = f", made by {job.origin}" if job.origin else ""
    what = f"It waits for job {job.id} ({job.task}{made}), which"
    if job.state is State.FAILED:
        return f"{what} failed: run again, and completed, it lets this one go.", f"retry {job.id}"
    if job.state.finished:
        return f"{what} was {job.state}, and holds it back all the same.", f"job {job.id}"
    return f"{what} is {job.state}.", f"why {job.id}"


def _missing(scene: Scene, upstream: Upstream) -> tuple[str, str]:
    if upstream.schedule is None:
        text = f"It waits for job {upstream.id}, of which there is no record: it has not come yet."
        return text, f"job {scene.job.id}"
    assert upstream.due is not None
    tick = f"It waits for schedule {upstream.schedule!r}, whose tick of {moment(upstream.due, scene.now)}"
    if upstream.schedule_paused:
        return f"{tick} has made no job: the schedule is paused.", f"schedules resume {upstream.schedule}"
    return f"{tick} has made no job yet.", f"schedules show {upstream.schedule}"
