"""A task whose calls are put in on a connection of the caller's, as a part of his transaction."""

from __future__ import annotations

from typing import TYPE_CHECKING, Generic, NoReturn, ParamSpec, Self, TypeVar, Unpack

from penstock.lent import AsyncLent, Lent

if TYPE_CHECKING:
    from penstock.tasks.handle import JobHandle
    from penstock.tasks.task import Options, Sendable

P = ParamSpec("P")
R = TypeVar("R")


class UsingAsyncConnection(Generic[P, R]):
    """On a connection whose calls are awaited; so is the enqueueing."""

    def __init__(self, task: Sendable[P, R], connection: Lent | AsyncLent) -> None:
        self._task = task
        self._connection = connection

    async def aenqueue(self, /, *args: P.args, **kwargs: P.kwargs) -> JobHandle[R]:
        """Put one job in: it is there when the connection's transaction commits, and never was otherwise."""
        call = self._task.call(*args, **kwargs)
        [job] = await call.task.client.asend_lent([call], self._connection)
        return job

    def using(self, **options: Unpack[Options]) -> Self:
        """The same with other options for the calls made through it; what is not given stays."""
        return type(self)(self._task.using(**options), self._connection)

    if not TYPE_CHECKING:  # for whom there is no such thing

        def __getattr__(self, name: str) -> NoReturn:
            if name == "enqueue":
                raise AttributeError(
                    "this connection is async, and so is putting jobs in on it: await ….aenqueue(…)"
                )
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")


class UsingConnection(UsingAsyncConnection[P, R]):
    """On a connection whose calls block: also inside a running event loop, as the connection's own do."""

    def enqueue(self, /, *args: P.args, **kwargs: P.kwargs) -> JobHandle[R]:
        """Put one job in: it is there when the connection's transaction commits, and never was otherwise."""
        call = self._task.call(*args, **kwargs)
        [job] = call.task.client.send_lent([call], self._connection)
        return job
