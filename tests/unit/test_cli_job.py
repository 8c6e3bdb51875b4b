"""`penstock job`: a person, and a program, sees everything that the record holds; every hint is true."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from cli_kit import Run, dead_letter, loaded_shop, runner, work_off  # noqa: F401 - fixtures

from penstock import Penstock
from penstock.engine import Retention, Settlement, Want, WorkerInfo
from penstock.model.decide import judge
from penstock.model.job import Claim, Job, NewJob
from penstock.model.outcome import Completed, Failed, Outcome, Park, Released, Retried
from penstock.tasks.ids import new_id

ERROR = '{"attempt": 1, "type": "Away", "message": "no line", "traceback": "  File x, line 1", "worker": "w"}'


def held(shop: Penstock, job: NewJob, outcome: Outcome | None = None, progress: str | None = None) -> Job:
    """Enqueue a job, let a worker claim it and settle it; as it is then."""

    async def run() -> Job:
        async with shop:
            engine = shop.engine
            await engine.register(WorkerInfo(id="w", name="host:1", queues=(job.queue,), slots=1), 600.0)
            await engine.enqueue([job])
            want = Want("w", "r", {job.queue: 1}, 1, shop.registry.fingerprints(), 1)
            claim: Claim
            (claim,) = (await engine.claim(want)).claims
            if progress:
                await engine.progress(claim.id, claim.token, progress)
            if outcome:
                await engine.settle([Settlement(claim.id, claim.token, outcome, 1.5)])
            return await shop.ops.job(job.id)

    return asyncio.run(run())


def new(**more: Any) -> NewJob:
    return NewJob(new_id(), "default", "fail", '{"what": "x"}', **more)


def test_a_running_job_shows_its_progress_and_worker(run: Run, shop: Penstock) -> None:
    job = held(shop, new(), progress='{"percent": 40, "message": "rendering"}')
    said = run("job", job.id).out
    assert "progress       40 % rendering" in said
    assert "worker         w" in said
    assert run("job", job.id, "--json").json["progress"] == {"percent": 40, "message": "rendering"}


def test_a_job_between_attempts_shows_the_next_try_and_what_went_wrong(run: Run, shop: Penstock) -> None:
    job = held(shop, new(), Retried(3600.0, ERROR))
    said = run("job", job.id).out
    assert "next try" in said
    assert "Away: no line" in said
    assert "File x, line 1" in said
    assert f"Run it now: penstock retry {job.id}" in said
    assert run("job", job.id, "--json").json["errors"][0]["traceback"] == "  File x, line 1"


def test_expiry_owner_options_and_key_are_shown(run: Run, shop: Penstock) -> None:
    with shop:
        job = (
            shop.tasks["fail"]
            .using(delay=60, expire_after=60, owner="user-1", key="k", timeout=9, retry="webhook")
            .enqueue(what="x")
        )
    said = run("job", job.id).out
    assert all(
        word in said for word in ("expires", "due", "owner          user-1", "k (one job", '"timeout":')
    )
    told = run("job", job.id, "--json").json
    assert (told["options"]["timeout"], told["owner"], told["unique"]) == (9, "user-1", True)
    assert told["expires_at"]


def test_a_parked_job_says_so_and_why(run: Run, shop: Penstock) -> None:
    job = held(shop, new(), Released("the payload does not fit", park=Park("fail", "no fit", misfit="v1")))
    said = run("job", job.id).out
    assert "waiting (parked)" in said
    assert "parked         the payload does not fit" in said
    assert "waiting (parked)" in run("jobs").out
    assert run("job", job.id, "--json").json["parked"] is True
    refused = run("retry", job.id)
    assert refused.code == 1
    assert "is parked until a worker comes" in refused.err


def test_a_rescued_suspect_tells_its_story(run: Run, shop: Penstock) -> None:
    job = held(shop, new(max_attempts=3))

    async def lose() -> None:
        async with shop:
            await shop.engine.rescue_worker("w", frozenset(), lambda h: judge(h._replace(started=True)))

    asyncio.run(lose())
    said = run("job", job.id).out
    assert "rescued        1 time from a worker that was lost" in said
    assert "it runs alone; 0 crashes while alone" in said
    assert "WorkerLost" in said


def test_a_failed_job_leads_to_its_dead_letter_and_to_what_it_became(run: Run, dead: str) -> None:
    said = run("job", dead).out
    assert f"dead letter    unrecoverable; penstock dlq show {dead}" in said
    assert run("job", dead, "--json").json["dead_letter"]["failure"]["reason"] == "unrecoverable"
    new_id = run("retry", dead, "--json").json["job_id"]
    said = run("job", dead).out
    assert f"It runs again as: penstock job {new_id}" in said
    assert "penstock retry" not in said
    assert f"recovered from {dead}" in run("job", new_id).out
    assert f"as {new_id}" in run("dlq", "show", dead).out


def test_a_failed_job_without_its_dead_letter_is_not_said_to_be_retriable(
    run: Run, shop: Penstock, dead: str
) -> None:
    async def purge() -> None:
        async with shop:
            assert await shop.engine.purge(0.0, 10) == 1

    asyncio.run(purge())
    said = run("job", dead).out
    assert "penstock retry" not in said
    assert "has been purged" in said
    assert run("retry", dead).code == 1


def test_hints_name_the_app_that_was_given(run: Run, dead: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("PENSTOCK_APP")
    app = ("--app", "cli_shop:app")
    for words in (("job", dead), ("dlq",), ("dlq", "show", dead), ("pause", "email")):
        said = run(*words, *app).out
        hints = [line for line in said.splitlines() if ": penstock " in line]
        assert hints
        assert all(line.endswith("--app cli_shop:app") for line in hints)


def prune(shop: Penstock) -> None:
    async def run() -> None:
        async with shop:
            await shop.engine.prune(Retention("default", keep_completed=0, keep_failed=0), 10)

    asyncio.run(run())


def test_a_pruned_job_is_told_from_the_history(run: Run, shop: Penstock) -> None:
    job = held(shop, new(owner="ana"), Failed("exhausted", ERROR))
    prune(shop)
    said = run("job", job.id)
    assert said.code == 0
    assert "fail  failed  default" in said.out
    assert "Away: no line" in said.out
    assert "File x" not in said.out
    assert "ana" in said.out
    assert "It has been pruned" in said.out
    told = run("job", job.id, "--json").json
    assert (told["id"], told["status"], told["payload"]) == (job.id, "failed", {"what": "x"})


def test_the_history_lists_what_has_ended_pruned_or_not(run: Run, shop: Penstock) -> None:
    first = held(shop, new(owner="[b]ana[/b]"), Failed("exhausted", ERROR))
    prune(shop)
    second = held(shop, new(), Completed('"ok"'))
    waiting = held(shop, new(), Retried(60.0, ERROR))
    said = run("history").out
    assert said.index(second.id) < said.index(first.id)
    assert waiting.id not in said
    assert "Away: no line" in said
    assert [told["id"] for told in run("history", "--status", "failed", "--json").json] == [first.id]
    assert [told["result"] for told in run("history", "--status", "completed", "--json").json] == ["ok"]
    assert [t["id"] for t in run("history", "--owner", "[b]ana[/b]", "--json").json] == [first.id]
    assert f"--after {second.id}" in run("history", "-n", "1").out
    assert run("history", "--task", "none").out == "No job has ended that matches.\n"
    assert run("history", "--status", "pending").code == 2


def test_an_empty_history_says_so(run: Run, shop: Penstock) -> None:
    held(shop, new(), Retried(60.0, ERROR))
    assert run("history").out == "No job has ended yet.\n"
