"""What cannot be done for all at once is done for those for whom it can."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import TypeVar

from penstock.model.errors import is_away

T = TypeVar("T")


async def piecewise(
    items: Sequence[T],
    do: Callable[[Sequence[T]], Awaitable[object]],
    set_aside: Callable[[T, Exception], Awaitable[object]],
) -> list[T]:
    """In as few calls as can be: where one fails, each half by itself. Those for whom it was done.

    Where nothing can be done at all, because what is needed for it is away, that is raised.
    """
    if not items:
        return []
    try:
        await do(items)
    except Exception as error:
        if is_away(error):
            raise
        if len(items) == 1:
            await set_aside(items[0], error)
            return []
        half = len(items) // 2
        first = await piecewise(items[:half], do, set_aside)
        return first + await piecewise(items[half:], do, set_aside)
    return list(items)
