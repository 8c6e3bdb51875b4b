"""What happens in the shop of `penstock demo`, in order, and then for as long as somebody watches."""

from __future__ import annotations

import asyncio
import itertools
import random
from collections.abc import Awaitable, Callable
from typing import Any

from penstock.app import Penstock
from penstock.audit import Actor
from penstock.cli import demo_tasks as shop
from penstock.engine import DeadFilter, JobFilter
from penstock.model.breaker import Circuit
from penstock.model.states import State
from penstock.ops import Ops

PROVIDERS = ("cirrus", "nimbus", "stratus")
REGIONS = ("Lisbon", "Porto", "Braga")
RETAKE = 60.0  # seconds between two outages, once the story has been told
LOOK = 0.1  # seconds between looks at how things stand


class Story:
    """Acts that wait for what they tell of, told with `pause` seconds between them."""

    def __init__(self, app: Penstock, ops: Ops, tell: Callable[[str], None], pause: float) -> None:
        self._app = app
        self._ops = ops
        self._tell = tell
        self._pause = pause
        self._orders = itertools.count(1_000)

    async def tell_all(self) -> None:
        """Once, from the opening to the last recovery."""
        await self.open_shop()
        await asyncio.sleep(self._pause)
        await self.warehouse_outage()
        await asyncio.sleep(self._pause)
        await self.gateway_outage()

    async def go_on(self) -> None:
        """A stream of varied work, and an outage now and then."""
        await asyncio.gather(self._stream(), self._outages())

    async def end(self) -> None:
        """When every job has ended."""
        await self._until(self._nothing_left)

    async def open_shop(self) -> None:
        """Hundreds of jobs of every kind."""
        calls: list[Any] = [self._receipt() for _ in range(300)]
        calls += [shop.render_invoice.call(order_id=n, pages=12 + n) for n in range(8)]
        calls += [shop.sync_customer.call(customer=n) for n in range(12)]
        calls += [shop.describe_product.call(provider=p, product=n) for p in PROVIDERS for n in range(2)]
        calls += [shop.charge_card.call(order_id=n, card="blocked") for n in (41, 42)]
        calls += [shop.parse_upload.call(path="broken.pdf")]
        await self._app.aenqueue_many(calls)
        await self._report()
        self._tell(f"The shop opens, with {len(calls) + len(REGIONS) + 2} jobs. Some need a third try.")
        self._tell("Two cards are blocked, and one file makes its process crash: these become dead letters.")

    async def warehouse_outage(self) -> None:
        """Jobs use up their attempts, become dead letters, and are recovered."""
        shop.mark(shop.WAREHOUSE, away=True)
        self._tell("The warehouse is away: what needs it fails, is tried again, and becomes a dead letter.")
        await self._app.aenqueue_many([shop.update_stock.call(order_id=next(self._orders)) for _ in range(8)])
        where = DeadFilter(task="update_stock")
        await self._until(lambda: self._dead(where, 8))
        await asyncio.sleep(self._pause)
        shop.mark(shop.WAREHOUSE, away=False)
        operator = self._app.ops_as(Actor.here("cli", "the warehouse is back"))
        made = [job_id async for job_id in operator.recover_all(where, rate=4)]
        self._tell(f"The warehouse is back: {len(made)} dead letters are recovered, four a second.")
        await self._until(lambda: self._completed(made))
        self._tell("All of them have completed.")

    async def gateway_outage(self) -> None:
        """A breaker opens, jobs wait behind it, and it closes."""
        shop.mark(shop.GATEWAY, away=True)
        self._tell("The message gateway is away: after three failures its breaker opens, and messages wait.")
        await self._app.aenqueue_many([self._message() for _ in range(12)])
        await self._until(lambda: self._breaker_is(Circuit.OPEN))
        await asyncio.sleep(self._pause)
        shop.mark(shop.GATEWAY, away=False)
        self._tell("The gateway is back: one message tries it, and the breaker closes.")
        await self._until(lambda: self._breaker_is(Circuit.CLOSED))
        self._tell("The messages go out, five a second; while they waited they spent no attempt.")

    async def _outages(self) -> None:
        while True:
            await asyncio.sleep(RETAKE)
            await self.warehouse_outage()
            await asyncio.sleep(RETAKE)
            await self.gateway_outage()

    async def _stream(self) -> None:
        makers: list[Callable[[], Any]] = [
            self._receipt,
            self._message,
            lambda: shop.update_stock.call(order_id=next(self._orders)),
            lambda: shop.sync_customer.call(customer=next(self._orders)),
            lambda: shop.describe_product.call(provider=random.choice(PROVIDERS), product=next(self._orders)),
            lambda: shop.render_invoice.call(order_id=next(self._orders), pages=random.randint(8, 30)),
            lambda: shop.remind_of_cart.using(delay=random.randint(20, 90)).call(cart=next(self._orders)),
            lambda: shop.parse_upload.call(path=f"upload-{next(self._orders)}.pdf"),
            lambda: shop.charge_card.call(order_id=next(self._orders), card="4711"),
            lambda: shop.charge_card.call(order_id=next(self._orders), card="blocked"),
        ]
        weights = [60, 12, 10, 8, 5, 6, 4, 4, 8, 1]
        for n in itertools.count(1):
            await self._app.aenqueue_many([make() for make in random.choices(makers, weights, k=3)])
            if n % 20 == 0:
                await self._report()
            await asyncio.sleep(random.uniform(0.5, 1.5))

    def _receipt(self) -> Any:
        n = next(self._orders)
        return shop.send_receipt.using(owner=f"user-{n % 20}").call(
            order_id=n, to=f"user{n % 20}@example.com"
        )

    def _message(self) -> Any:
        return shop.send_message.call(customer=next(self._orders), text="your parcel is on its way")

    async def _report(self) -> None:
        flow = self._app.flow(f"report-{next(self._orders)}")
        sales = [flow.add(shop.collect_sales.call(region=region)) for region in REGIONS]
        report = flow.add(shop.write_report.call(), after=sales)
        flow.add(shop.mail_report.call(to="ana@example.com"), after=[report])
        await flow.aenqueue()

    async def _until(self, so: Callable[[], Awaitable[bool]]) -> None:
        while not await so():  # noqa: ASYNC110 - workers are other processes
            await asyncio.sleep(LOOK)

    async def _nothing_left(self) -> bool:
        rows = await self._ops.queues()
        return not any(n for row in rows for state, n in row.counts.items() if not state.finished)

    async def _dead(self, where: DeadFilter, many: int) -> bool:
        return len(await self._ops.dead_letters(where, many)) >= many

    async def _completed(self, made: list[str]) -> bool:
        done = await self._ops.jobs(JobFilter(task="update_stock", state=State.COMPLETED), 200)
        return {job.id for job in done}.issuperset(made)

    async def _breaker_is(self, circuit: Circuit) -> bool:
        return any(state.circuit is circuit for state in await self._ops.breakers())
