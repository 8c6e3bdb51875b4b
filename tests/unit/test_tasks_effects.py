"""How long effects are remembered, and the keys that other services are given."""

from __future__ import annotations

from typing import Any
from uuid import UUID

import pytest

from penstock import Context, InvalidOption, Penstock, Retry, Settings
from penstock.tasks.effects import DAY, key_for

MEMORY = "sqlite://:memory:"
TRIES = Retry.fixed(3, 100, jitter=0.5)  # waits of up to 150 s


def declared(app: Penstock | None = None, **options: Any) -> Any:
    app = app or Penstock(MEMORY)

    @app.task(**{"retry": TRIES, "timeout": 20, **options})
    async def pay(ctx: Context) -> None: ...

    return pay


def test_an_effect_is_remembered_for_sixty_days() -> None:
    assert declared().effects_for(None) == 60 * DAY


def test_or_for_as_long_as_a_job_may_run_again() -> None:
    app = Penstock(settings=Settings(url=MEMORY, keep_dead_letters_for=90 * DAY))
    assert declared(app).effects_for(None) == 90 * DAY + 2 * 150 + 3 * 20


def test_a_run_without_a_time_limit_counts_as_none() -> None:
    app = Penstock(settings=Settings(url=MEMORY, keep_dead_letters_for=90 * DAY))
    assert declared(app, timeout=None).effects_for(None) == 90 * DAY + 2 * 150


def test_a_lifetime_shorter_than_that_is_refused_with_the_numbers() -> None:
    needed = 30 * DAY + 2 * 150 + 3 * 20
    assert declared(effects_for=needed).effects_for(None) == needed
    with pytest.raises(
        InvalidOption, match=r"effects_for of 2,592,359 s .* 360 s .* 2,592,000 s, .* 2,592,360 s"
    ):
        declared(effects_for=needed - 1)


def test_so_is_a_short_setting() -> None:
    app = Penstock(settings=Settings(url=MEMORY, keep_effects_for=DAY))
    with pytest.raises(InvalidOption, match="keep_effects_for of 86,400 s is too short for task 'pay'"):
        declared(app)


def test_a_task_that_takes_no_context_has_no_effects_to_remember() -> None:
    app = Penstock(settings=Settings(url=MEMORY, keep_effects_for=DAY))

    @app.task
    async def mail() -> None: ...

    with pytest.raises(InvalidOption, match="takes no context"):

        @app.task(effects_for=DAY)
        async def post() -> None: ...


def test_a_call_that_may_run_longer_is_remembered_longer_or_refused() -> None:
    longer = Retry.fixed(3, 20 * DAY, jitter=0)
    assert declared().using(retry=longer).call().job.max_attempts == 3
    options = declared().using(retry=longer).call().job.options
    assert declared().effects_for(options) == 70 * DAY + 60
    with pytest.raises(InvalidOption, match="too short for a job of task 'pay'"):
        declared(effects_for=31 * DAY).using(retry=longer)


def test_the_key_for_a_provider_is_a_uuid_that_never_changes() -> None:
    """Others have stored it: it must be the same in every release."""
    assert key_for("pay", "order:7", "stripe") == "06f84b47-c344-51bf-b612-4757a90a1ede"


def test_task_key_and_provider_are_told_apart() -> None:
    names = [("a", "b", "c"), ("a", "bc", "-"), ("ab", "c", "-"), ("a", "b", 'c"'), ('a","b', "c", "-")]
    keys = {key_for(*name) for name in names}
    assert len(keys) == len(names)
    assert all(str(UUID(key)) == key for key in keys)


@pytest.mark.parametrize("provider", ["", "x" * 256, "a\x00b", 7])
def test_a_provider_without_a_name_is_refused(provider: Any) -> None:
    with pytest.raises(InvalidOption, match="provider"):
        key_for("pay", "order:7", provider)
