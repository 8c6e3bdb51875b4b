"""The app of the schedules run: a tick of each schedule every second."""

from __future__ import annotations

from tests.chaos.tasks import note

from penstock import Context, Penstock, Retry

app = Penstock(name="chaos")
app.queue("default", keep_completed=None, keep_failed=None, keep_for=None, retry=Retry.immediate(3))


@app.task
async def work(ctx: Context, schedule: str) -> None:
    note("start", ctx, schedule=schedule)


NAMES = ("one", "two", "three", "four")
for name in NAMES:
    app.schedule(name, work, every=1, missed="all", args={"schedule": name})
