"""The application at work: `penstock serve`, two worker processes, a mail server, and those who ask."""

from __future__ import annotations

import asyncio
import json
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, LiteralString

import httpx
import psycopg

from acceptance.feat33 import app as application
from acceptance.feat33.mail import Mailroom
from acceptance.fleet import START_SECONDS, Site, Tree, eventually
from penstock import Penstock
from penstock.outbox.effects_table import EffectsTable
from penstock.web import Scope
from servers import PostgresServer, RedisServer, free_port

CANARY = "canary-password"  # of the servers: it must not be seen anywhere
APP = f"{Path(application.__file__)}:app"
PATIENCE = 30.0
DOCUMENT = "select 1 from documents where id = %s for update"
MAX_PAYLOAD = 65_536
SCHEMA = "penstock"

Server = PostgresServer | RedisServer


@dataclass
class Stage:
    """One engine with everything around it."""

    server: Server  # of the engine
    url: str
    database: str  # of the application; with Redis, of the ledger too
    site: Site
    mail: Mailroom
    port: int = field(default_factory=free_port)
    clients: dict[str, httpx.Client] = field(default_factory=dict)

    @property
    def durable(self) -> bool:
        """Whether jobs are accepted while the engine is away."""
        return isinstance(self.server, RedisServer)

    def penstock(self) -> Penstock:
        """Another app on the same engine."""
        return Penstock(self.url, ledger=self.database if self.durable else None, schema=SCHEMA)

    # -- over HTTP ------------------------------------------------------------------------------------
    def post(
        self, queue: str, task: str, payload: dict[str, Any], who: str = "ana", **more: Any
    ) -> httpx.Response:
        body = {"job_type": task, "payload": payload, **more}
        return self.clients[who].post(f"/jobs/{queue}", json=body)

    def enqueue(self, queue: str, task: str, payload: dict[str, Any], **more: Any) -> str:
        answer = self.post(queue, task, payload, **more)
        assert answer.status_code == 202, answer.text
        job_id: str = answer.json()["job_id"]
        return job_id

    def look(self, job_id: str, who: str = "ana") -> dict[str, Any]:
        answer = self.clients[who].get(f"/jobs/{job_id}")
        assert answer.status_code == 200, answer.text
        seen: dict[str, Any] = answer.json()
        return seen

    def becomes(self, job_id: str, status: str) -> dict[str, Any]:
        """Wait for a status."""

        def reached() -> dict[str, Any] | None:
            seen = self.look(job_id)
            assert seen["status"] == status or seen["finished_at"] is None, seen
            return seen if seen["status"] == status else None

        return eventually(reached, PATIENCE, f"{status}\n{self.workers.log()[-3000:]}")

    @contextmanager
    def paused(self, queue: str) -> Iterator[None]:
        """Nobody begins a job of the queue."""
        admin = self.clients["admin"]
        assert admin.post(f"/queues/{queue}/pause").status_code == 200
        try:
            yield
        finally:
            assert admin.post(f"/queues/{queue}/resume").status_code == 200

    # -- beside it ------------------------------------------------------------------------------------
    def sql(self, text: LiteralString, *values: Any) -> list[tuple[Any, ...]]:
        with psycopg.connect(self.database, autocommit=True) as connection:
            cursor = connection.execute(text, values)
            return cursor.fetchall() if cursor.description else []

    def tracked(self, job_id: str) -> dict[str, Any]:
        """The job's row of `background_jobs`."""
        (found,) = self.sql("select row_to_json(b) from penstock.background_jobs b where id = %s", job_id)
        row: dict[str, Any] = found[0]
        return row

    def with_key(self, key: str) -> int:
        """How many of ana's jobs have this key: tracked, and in the engine."""
        ((tracked,),) = self.sql(
            "select count(*) from penstock.background_jobs where idempotency_key = %s", f"ana/{key}"
        )
        listed = self.clients["ana"].get("/jobs", params={"key": key}).json()["jobs"]
        return int(tracked) + len(listed)

    def document(self, content: str = "a few words") -> str:
        """A new document; its id."""
        document_id = new("document")
        self.sql("insert into documents values (%s, %s)", document_id, content)
        return document_id

    @contextmanager
    def held(self, lock: LiteralString, *values: Any) -> Iterator[None]:
        """Somebody else has a lock: handlers that need it wait."""
        with psycopg.connect(self.database) as connection:
            connection.execute(lock, values)
            yield

    def runs(self, job_id: str) -> list[tuple[Any, ...]]:
        """The pid of each run, when it began and when it ended."""
        return self.sql("select pid, began, ended from runs where job_id = %s order by id", job_id)

    def notifications(self, user_id: str) -> list[str]:
        rows = self.sql("select message from notifications where user_id = %s order by message", user_id)
        return [message for (message,) in rows]

    # -- processes ------------------------------------------------------------------------------------
    @property
    def service(self) -> Tree:
        return self.site.trees[0]

    @property
    def workers(self) -> Tree:
        return self.site.trees[1]

    def lines(self) -> list[dict[str, Any]]:
        """The workers' log."""
        whole = self.workers.log().rpartition("\n")[0]
        return [json.loads(line) for line in whole.splitlines()]

    def told(self, job_id: str) -> dict[str, dict[str, Any]]:
        """What the workers' log has of a job, by event."""
        return {line["event"]: line for line in self.lines() if line.get("job_id") == job_id}

    @contextmanager
    def outage(self) -> Iterator[None]:
        """The engine's server is away; after it workers and the service are back by themselves."""
        self.server.stop()
        try:
            yield
        finally:
            self.server.start()
        eventually(self._is_up, PATIENCE, "all are back")

    def everything_said(self) -> str:
        """The logs of all processes."""
        return self.service.log() + self.workers.log()

    def open(self) -> None:
        with psycopg.connect(self.database, autocommit=True) as connection:
            connection.execute(application.TABLES)
        asyncio.run(self._make_ready())
        self.site.env |= {application.DATABASE: self.database, application.SMTP: self.mail.address}
        self.site.env |= {"PENSTOCK_LEDGER": self.database} if self.durable else {}
        self.site.env["PENSTOCK_MAX_ARGS_BYTES"] = f"{MAX_PAYLOAD}"
        self.mail.open()
        self.site.launch("serve", "--app", APP, "--port", f"{self.port}")
        self.site.start("--processes", "2", "--concurrency", "12", "--log-format", "json", app=APP, grace=5)
        eventually(self._is_up, START_SECONDS, "the service and two workers")

    async def _make_ready(self) -> None:
        app = self.penstock()
        await app.migrate()
        await EffectsTable(self.database).apply()
        some = [Scope.ENQUEUE, Scope.READ]
        async with app:
            tokens = {name: await app.ops.tokens.create(name, some, name) for name in ("ana", "bea")}
            tokens["admin"] = await app.ops.tokens.create("admin", [Scope.ADMIN])
        for name, token in tokens.items():
            headers = {"authorization": f"Bearer {token.text}"}
            self.clients[name] = httpx.Client(
                base_url=f"http://127.0.0.1:{self.port}", headers=headers, timeout=20
            )

    def _is_up(self) -> bool:
        for tree in self.site.trees:
            assert tree.running, tree.log()
        try:
            answer = self.clients["admin"].get("/workers")
        except httpx.TransportError:
            return False
        found = answer.json()["workers"] if answer.status_code == 200 else []
        return len([worker for worker in found if worker["alive"]]) == 2

    def close(self) -> None:
        for client in self.clients.values():
            client.close()
        self.site.close()
        self.mail.close()


def new(what: str) -> str:
    """A name that nothing else has."""
    return f"{what}_{secrets.token_hex(4)}"


def with_password(url: str, user: str) -> str:
    return url.replace("://postgres@", "://").replace("://", f"://{user}:{CANARY}@")
