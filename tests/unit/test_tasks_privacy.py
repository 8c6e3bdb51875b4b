"""Secret and searchable arguments: how they are declared, what is refused, and a bounded search."""

from __future__ import annotations

import dataclasses
import json
from typing import Annotated, Any

import pytest

from penstock import InvalidOption, Job, Penstock, Secret, Unrecoverable
from penstock.engine import JobFilter
from penstock.model.redaction import MASK
from penstock.ops import Ops
from penstock.searching import MOST, MOST_WHOLE, WHOLE, Fit, NotSearchable


@pytest.fixture(name="app")
def shop() -> Penstock:
    return Penstock("sqlite:///:memory:")


def test_secrets_are_marked_in_the_signature_or_named(app: Penstock) -> None:
    @app.task(secret="pin", searchable=("order_id",))
    async def pay(
        order_id: int, pin: int, card: Annotated[str, Secret], old: Annotated[str, Secret] | None = None
    ) -> None: ...

    (row,) = app.registry.catalogue()
    assert (row["secret"], row["searchable"]) == (["card", "old", "pin"], ["order_id"])
    told = row["payload"]["properties"]
    assert {name for name, shape in told.items() if shape.get("writeOnly")} == {"card", "old", "pin"}
    assert told["card"]["x-secret"] is True
    assert told["order_id"] == {"title": "Order Id", "type": "integer"}


def test_that_an_argument_is_secret_does_not_change_what_fits() -> None:
    def declared(**options: Any) -> str:
        async def pay(card: str) -> None: ...

        return Penstock("sqlite:///:memory:").task(**options)(pay).fingerprint

    async def pay(card: Annotated[str, Secret]) -> None: ...

    marked = Penstock("sqlite:///:memory:").task(pay).fingerprint
    assert declared(queue="default") == declared(secret="card") == marked


@pytest.mark.parametrize(
    "options",
    [
        {"secret": "cart"},
        {"searchable": ("order",)},
        {"searchable": "card"},
        {"key": "pay:{card}"},
        {"rate": "1/s", "rate_key": "{card}"},
        {"secret": "order_id", "searchable": "order_id"},
    ],
)
def test_what_would_show_a_secret_is_refused(app: Penstock, options: dict[str, Any]) -> None:
    async def pay(order_id: int, card: Annotated[str, Secret]) -> None: ...

    with pytest.raises(InvalidOption):
        app.task(**options)(pay)
    assert not app.tasks


async def test_jobs_are_found_by_searchable_arguments(app: Penstock) -> None:
    @app.task(searchable=("order_id", "kind", "paid"), secret="card")
    async def pay(order_id: int, kind: str, card: str, paid: bool = False) -> None: ...

    async with app:
        wanted = [await pay.aenqueue(7, "a", "4111"), await pay.aenqueue(7, "b", "4111", paid=True)]
        await pay.aenqueue(8, "a", "4111")

        async def found(**args: str) -> list[str]:
            page = await app.ops.search(JobFilter(task="pay"), Fit(args))
            assert page.next is None
            assert all(job.args["card"] == MASK for job in page.jobs)
            return [job.id for job in page.jobs]

        assert await found(order_id="7") == [wanted[1].id, wanted[0].id]
        assert await found(order_id="7", kind="a") == [wanted[0].id]
        assert await found(paid="true") == [wanted[1].id]
        assert await found(order_id="07") == []
        first = await app.ops.search(JobFilter(task="pay"), Fit({"order_id": "7"}), limit=1)
        second = await app.ops.search(
            JobFilter(task="pay"), Fit({"order_id": "7"}), limit=1, after=first.next
        )
        assert [job.id for page in (first, second) for job in page.jobs] == [wanted[1].id, wanted[0].id]


@pytest.mark.parametrize("where", [JobFilter(), JobFilter(task="unknown"), JobFilter(task="pay")])
async def test_a_search_by_anything_else_is_refused_without_telling_the_value(
    app: Penstock, where: JobFilter
) -> None:
    @app.task(searchable="order_id", secret="card")
    async def pay(order_id: int, card: str) -> None: ...

    async with app:
        with pytest.raises(NotSearchable) as refused:
            await app.ops.search(where, Fit({"card": "4111"}))
    assert "4111" not in str(refused.value)


@pytest.mark.parametrize(("args", "tag", "most"), [({"order_id": "2"}, None, MOST_WHOLE), ({}, "no", MOST)])
async def test_a_page_looks_at_a_bounded_number_of_jobs(
    app: Penstock, args: dict[str, str], tag: str | None, most: int
) -> None:
    engine = await endless(app)
    page = await engine.ops.search(JobFilter(task="pay", payloads=bool(args)), Fit(args, tag))
    assert (list(page.jobs), page.next) == ([], f"job {most}")
    assert sum(engine.asked) == most


@pytest.mark.parametrize(("filler", "reads"), [("x" * 10_000, MOST_WHOLE // WHOLE), ("", 11)])
async def test_a_search_reads_few_payloads_at_once_where_they_are_large(
    app: Penstock, filler: str, reads: int
) -> None:
    engine = await endless(app, filler)
    await engine.ops.search(JobFilter(task="pay"), Fit({"order_id": "2"}))
    assert len(engine.asked) == reads


async def endless(app: Penstock, filler: str = "") -> Endless:
    @app.task(name="pay", searchable="order_id")
    async def pay(order_id: int, filler: str) -> None: ...

    async with app:
        handle = await pay.aenqueue(1, filler)
        return Endless(await app.ops.job(handle.id), app)


class Endless:
    """An engine with more jobs than anybody could look at."""

    def __init__(self, job: Job, app: Penstock) -> None:
        self._job = job
        self.asked: list[int] = []
        self.ops = Ops(self, app.registry)  # type: ignore[arg-type]

    async def jobs(self, where: JobFilter, limit: int, after: str | None) -> list[Job]:
        told = sum(self.asked)
        assert after == (f"job {told}" if told else None)
        self.asked.append(limit)
        return [dataclasses.replace(self._job, id=f"job {told + n}") for n in range(1, limit + 1)]


async def test_schedules_and_flows_show_no_secrets_and_jobs_still_get_them(app: Penstock) -> None:
    seen: list[str] = []

    @app.task(secret="card")
    async def pay(card: str) -> None:
        seen.append(card)

    app.schedule("nightly", pay, cron="0 4 * * *", args={"card": "4111"})
    async with app:
        entry = (await app.ops.timetable.schedule("nightly")).entry
        assert entry.spec is not None
        assert entry.spec.job.args == f'{{"card":"{MASK}"}}'
        await app.ops.timetable.fire("nightly")
        flow = app.flow("pay")
        flow.add(pay.call("4222"))
        made = await flow.aenqueue()
        (job,) = (await app.ops.flows.flow(made.id)).jobs
        assert job.args == {"card": MASK}
        await app.worker().run(burst=True)
    assert sorted(seen) == ["4111", "4222"]


async def test_recovering_with_the_arguments_as_they_are_shown_keeps_the_secret(app: Penstock) -> None:
    got: list[tuple[int, str]] = []

    @app.task(secret=("pin", "code"))
    async def charge(order_id: int, pin: str, code: str | None = None) -> None:
        got.append((order_id, pin))
        raise Unrecoverable("no")

    async with app:
        job = await charge.aenqueue(order_id=1, pin="1234")
        await app.worker().run(burst=True)
        shown = json.loads((await app.ops.dead_letter(job.id)).args_json)
        with pytest.raises(InvalidOption, match="'code' is masked"):
            await app.ops.recover(job.id, {"order_id": 2, "pin": "5678", "code": MASK})
        await app.ops.recover(job.id, {**shown, "order_id": 2})
        await app.worker().run(burst=True)
    assert got == [(1, "1234"), (2, "1234")]


async def test_a_mask_in_changed_arguments_of_a_dead_letter_stands_for_what_it_was(
    app: Penstock,
) -> None:
    @app.task(secret="card")
    async def pay(card: str, amount: int) -> None:
        raise Unrecoverable("no")

    async with app:
        job = await pay.aenqueue(card="4111 1111", amount=1)
        await app.worker().run(burst=True)
        shown = (await app.ops.dead_letter(job.id)).args
        done = await app.ops.recover(job.id, shown | {"amount": 2})
        made = await app.engine.get(done.job_id)
        assert made is not None
        assert (shown["card"], made.args) == (MASK, {"card": "4111 1111", "amount": 2})
