"""Answers in time, also where the engine is there and says nothing."""

from __future__ import annotations

from collections.abc import Coroutine
from typing import Any, TypeVar

from penstock.model.errors import EngineUnavailable
from penstock.patience import within

LOOK_WITHIN = 2.0  # seconds to find out who asks
ANSWER_WITHIN = 6.0  # seconds for the whole

T = TypeVar("T")


async def promptly(seconds: float, work: Coroutine[Any, Any, T], *, give_up: bool = True) -> T:
    """What it answers; EngineUnavailable where that takes too long."""
    try:
        return await within(seconds, work, give_up=give_up)
    except TimeoutError:
        raise EngineUnavailable(f"no answer in {seconds:.1f} s") from None
