"""A site as a test sees it: its trees, its jobs, and what its handlers did."""

from __future__ import annotations

from typing import Any

from acceptance import jobs
from acceptance.fleet import START_SECONDS, Site, Tree, children_of, eventually
from penstock import Job
from penstock.engine import Order, WorkerInfo


class World:
    """A site, and this process as its client."""

    def __init__(self, site: Site) -> None:
        self.site = site

    def start(self, *options: str, **more: Any) -> Tree:
        """Start a tree and return when its worker is registered."""
        tree = self.site.start(*options, **more)
        self.up(tree)
        return tree

    def up(self, tree: Tree, not_pid: int = 0) -> int:
        """Wait until the tree has a registered worker process (other than `not_pid`); its pid."""

        def registered() -> int:
            assert tree.running, f"ended with {tree.exit_code(0)}\n{tree.log()}"
            known = {worker.name.rpartition(":")[2] for worker in self.workers() if worker.alive}
            return next((pid for pid in tree.workers() if str(pid) in known and pid != not_pid), 0)

        return eventually(registered, START_SECONDS, f"a registered worker\n{tree.log()}")

    def workers(self) -> list[WorkerInfo]:
        return jobs.app.run_on_engine(lambda engine: engine.workers(), "await")

    def order(self, worker: str, order: Order | None) -> None:
        assert jobs.app.run_on_engine(lambda engine: engine.order_worker(worker, order), "await")

    def beats(self, many: int) -> None:
        """Wait until the one worker was beaten for so often."""
        for _ in range(many):
            before = self.workers()[0].expires_at
            eventually(lambda before=before: self.workers()[0].expires_at != before, 20, "a heartbeat")

    def warm(self, tree: Tree) -> list[int]:
        """The processes that bear others."""
        return [warm for worker in tree.workers() for warm in children_of(worker)]

    def guards(self, tree: Tree) -> list[int]:
        """The processes that each watch over one in which jobs run alone."""
        return [guard for warm in self.warm(tree) for guard in children_of(warm)]

    def children(self, tree: Tree) -> list[int]:
        """The processes in which jobs run alone."""
        return [child for guard in self.guards(tree) for child in children_of(guard)]

    def look(self, job_id: str) -> Job:
        found = jobs.app.run_on_engine(lambda engine: engine.get(job_id), "await")
        assert found is not None
        return found

    def state(self, job_id: str) -> str:
        return self.look(job_id).state

    def starts(self, job_id: str) -> list[dict[str, Any]]:
        return [e for e in self.site.effects() if e["job"] == job_id and e["f"] == "start"]

    def started(self, *job_ids: str, within: float = 20.0) -> None:
        """Wait until handlers have begun."""
        eventually(lambda: all(self.starts(job_id) for job_id in job_ids), within, "started")

    def becomes(self, job_id: str, state: str, within: float = 20.0) -> Job:
        """Wait for a state."""
        job: Job = eventually(lambda: _if_in(self.look(job_id), state), within, f"{job_id} becomes {state}")
        return job


def _if_in(job: Job, state: str) -> Job | None:
    return job if job.state == state else None
