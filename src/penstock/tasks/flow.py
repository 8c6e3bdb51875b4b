"""A flow: calls with edges between them, enqueued as one."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, Generic, TypeAlias, TypeVar, get_args

from penstock.lent import AsyncConnection, SyncConnection, lent
from penstock.model.errors import InvalidOption, ValueTooLarge
from penstock.model.job import Edge, FlowName, OnFailure, Ties
from penstock.model.names import check_text
from penstock.tasks.call import Call
from penstock.tasks.ids import new_id
from penstock.tasks.tree import Branch, draw

if TYPE_CHECKING:
    from penstock.tasks.client import Client
    from penstock.tasks.handle import JobHandle

R = TypeVar("R")
R_co = TypeVar("R_co", covariant=True)

MAX_JOBS = 10_000
MAX_BYTES = 16 * 1024 * 1024  # of arguments, all together


class Node(Generic[R_co]):
    """A call in its place in a flow; others come after it."""

    __slots__ = ("after", "call", "flow")

    def __init__(self, flow: Flow, call: Call[R_co], after: dict[Node[Any], OnFailure]) -> None:
        self.flow = flow
        self.call = call
        self.after = after

    def __repr__(self) -> str:
        return f"<node {self.call.job.task} of flow {self.flow.name!r}>"


After: TypeAlias = Iterable[Node[Any]] | Mapping[Node[Any], OnFailure]


class Flow:
    """Nothing is enqueued before `enqueue` or `aenqueue`; then everything is, or nothing.

    A job can only come after what was added before it: there are no circles.
    """

    def __init__(self, client: Client, name: str) -> None:
        self._client = client
        self.name = check_text("the name of a flow", name)
        self.id = new_id()
        self.nodes: list[Node[Any]] = []
        self._calls: set[Call[Any]] = set()
        self._closed: str | None = None  # why nothing more can be added

    def add(self, call: Call[R], *, after: After = (), on_failure: OnFailure = "fail") -> Node[R]:
        """Add a job that starts when those in `after` have completed.

        Where one of them fails or is cancelled: *fail* cancels this one too; *ignore* goes on as if it had
        completed; *continue* starts this one at once; *wait* waits until it is recovered. A mapping gives
        each its own: `after={outline: "fail", pictures: "ignore"}`.
        """
        self._check_open()
        if not isinstance(call, Call):
            raise InvalidOption(f"add() takes a call of a task, task.call(…), not {call!r}")
        if call in self._calls:
            raise InvalidOption(f"{call!r} is in flow {self.name!r} already; make one call() per job")
        node = Node(self, call, self._edges(after, on_failure))
        self.nodes.append(node)
        self._calls.add(call)
        return node

    def include(self, other: Flow, *, after: After = (), on_failure: OnFailure = "fail") -> list[Node[Any]]:
        """Take over all jobs of another flow, its first ones after these; its last ones, to go on from.

        The other flow is then part of this one, and is not enqueued by itself.
        """
        self._check_open()
        if other is self:
            raise InvalidOption(f"flow {self.name!r} cannot include itself")
        other._check_open()
        if not other.nodes:
            raise InvalidOption(f"flow {other.name!r} is empty: nothing could come after it")
        edges = self._edges(after, on_failure)
        named = {upstream for node in other.nodes for upstream in node.after}
        for node in other.nodes:
            node.flow = self
            node.after = node.after or dict(edges)
        self.nodes += other.nodes
        self._calls |= other._calls
        other._closed = f"it is part of flow {self.name!r} now"
        return [node for node in other.nodes if node not in named]

    def enqueue(self, *, connection: SyncConnection | None = None) -> FlowHandle:
        """Put all its jobs in, in one step; with a `connection`, as a part of its transaction.

        Inside a running event loop use `aenqueue`, unless a connection is given.
        """
        if connection is None:
            return FlowHandle(self, self._client.send_together(self._tied()))
        found = lent(connection)
        return FlowHandle(self, self._client.send_lent(self._tied(), found, together=True))

    async def aenqueue(self, *, connection: SyncConnection | AsyncConnection | None = None) -> FlowHandle:
        """Put all its jobs in, in one step; with a `connection`, as a part of its transaction."""
        if connection is None:
            return FlowHandle(self, await self._client.asend_together(self._tied()))
        found = lent(connection)
        return FlowHandle(self, await self._client.asend_lent(self._tied(), found, together=True))

    def __str__(self) -> str:
        """The flow as a tree."""
        branches = [
            Branch(node.call.job.id, node.call.job.task, tuple(up.call.job.id for up in node.after))
            for node in self.nodes
        ]
        return "\n".join([self.name, *draw(branches)])

    def __repr__(self) -> str:
        return f"<flow {self.name!r} of {len(self.nodes)} jobs>"

    def _check_open(self) -> None:
        if self._closed is not None:
            raise InvalidOption(f"flow {self.name!r} takes no more jobs: {self._closed}")

    def _edges(self, after: After, on_failure: OnFailure) -> dict[Node[Any], OnFailure]:
        if not isinstance(after, Iterable):
            raise InvalidOption(f"after= takes a list of what add() has returned: after=[…], not {after!r}")
        edges = dict(after) if isinstance(after, Mapping) else dict.fromkeys(after, on_failure)
        for node, rule in edges.items():
            if not isinstance(node, Node):
                raise InvalidOption(f"after= takes what add() of this flow has returned, not {node!r}")
            if node.flow is not self:
                raise InvalidOption(f"{node!r} is not in flow {self.name!r}; include() the flow it is in")
            if rule not in get_args(OnFailure):
                raise InvalidOption(f"on_failure {rule!r} is unknown; use {', '.join(get_args(OnFailure))}")
        return edges

    def _tied(self) -> list[Call[Any]]:
        """Its calls, each with its edges."""
        if self._closed != _ENQUEUED:
            self._check_open()
            self._check_calls()
        self._check_size()
        flow = FlowName(self.id, self.name)
        for node in self.nodes:
            edges = tuple(Edge(upstream.call.job.id, rule) for upstream, rule in node.after.items())
            node.call.job = node.call.job._replace(ties=Ties(edges, flow=flow))
        self._closed = _ENQUEUED
        return [node.call for node in self.nodes]

    def _check_calls(self) -> None:
        """One that is a job already would not be a member, and would not wait."""
        for node in self.nodes:
            if node.call.sent or node.call.job.ties is not None:
                raise InvalidOption(f"{node.call!r} has been enqueued already; make one call() per job")

    def _check_size(self) -> None:
        if not self.nodes:
            raise InvalidOption(f"flow {self.name!r} is empty; add() jobs to it")
        if len(self.nodes) > MAX_JOBS:
            raise InvalidOption(
                f"flow {self.name!r} has {len(self.nodes):,} jobs; it can have {MAX_JOBS:,}. "
                "Let a job of it enqueue the others"
            )
        if (size := sum(len(node.call.job.args) for node in self.nodes)) > MAX_BYTES:
            raise ValueTooLarge(
                f"the arguments of flow {self.name!r} are {size:,} bytes of JSON, over the limit of "
                f"{MAX_BYTES:,}; keep the content in your own storage and pass references to it"
            )


_ENQUEUED = "it has been enqueued"


class FlowHandle:
    """A flow that was enqueued: its id, and the handles of its jobs, by node or in order."""

    def __init__(self, flow: Flow, jobs: list[JobHandle[Any]]) -> None:
        self.id = flow.id
        self.name = flow.name
        self.jobs = jobs
        self._by_node = dict(zip(flow.nodes, jobs, strict=True))

    def __getitem__(self, node: Node[R]) -> JobHandle[R]:
        return self._by_node[node]

    def __repr__(self) -> str:
        return f"<flow {self.name!r} {self.id} of {len(self.jobs)} jobs>"
