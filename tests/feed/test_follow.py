"""Follow tokens: for one job, for some time, by whoever has the secret; and for nothing else."""

from __future__ import annotations

import pytest

from conformance.kit import make_id
from feed.kit import memory_engine  # noqa: F401
from penstock.engine import Engine
from penstock.feed.follow import KEY, KIND, FollowTokens


class Watch:
    def __init__(self) -> None:
        self.time = 1_800_000_000.0

    def __call__(self) -> float:
        return self.time


async def test_a_token_holds_for_its_job_until_its_time_is_over(memory: Engine) -> None:
    watch = Watch()
    tokens = FollowTokens(memory, watch)
    job_id, other = make_id(), make_id()
    token = await tokens.make(job_id, ttl=60)
    assert await tokens.check(token, job_id) == 60
    assert await tokens.check(token, other) is None
    watch.time += 60
    assert await tokens.check(token, job_id) is None


async def test_every_process_knows_the_tokens_of_the_others(memory: Engine) -> None:
    job_id = make_id()
    token = await FollowTokens(memory).make(job_id)
    assert await FollowTokens(memory).check(token, job_id)
    [note] = await memory.notes(KIND, 10)
    assert note.version == 1


async def test_no_token_outlives_its_secret(memory: Engine) -> None:
    job_id = make_id()
    token = await FollowTokens(memory).make(job_id)
    await memory.remove_notes(KIND, [KEY])
    assert await FollowTokens(memory).check(token, job_id) is None


async def test_a_token_that_was_touched_does_not_hold(memory: Engine) -> None:
    tokens = FollowTokens(memory)
    job_id = make_id()
    token = await tokens.make(job_id)
    name, expires, mac = token.split(".")
    touched = [
        f"{name}.{int(expires) + 1}.{mac}",
        f"psf_{make_id()}.{expires}.{mac}",
        f"{name}.{expires}.{mac[::-1]}",
        f"{name}.{expires}.",
        f"{name}.{expires}.{mac}\n",
        token.upper(),
        token * 3,
        "",
    ]
    for each in touched:
        assert await tokens.check(each, job_id) is None, each


@pytest.mark.parametrize("field", [0, 1, 2])
async def test_digits_of_other_scripts_are_refused_and_not_raised(memory: Engine, field: int) -> None:
    tokens = FollowTokens(memory)
    job_id = make_id()
    parts = (await tokens.make(job_id)).split(".")
    parts[field] = parts[field][:-1] + "٣"
    assert await tokens.check(".".join(parts), job_id) is None
