"""What happens is seen: in a burst, in many tabs, after the stream was refused."""

from __future__ import annotations

import pytest
from playwright.async_api import CDPSession, Request, Route, expect

from dashboard.kit import Shop

pytestmark = pytest.mark.asyncio(loop_scope="package")

BUSY = 1.0  # seconds of work on a burst; a page that drew itself for each event worked for four
KEPT_SOURCE = """const Own = EventSource;
window.EventSource = class extends Own { constructor(to) { super(to); window.source = this; } }"""
BURST = """new Promise(done => {
  const turns = new MessageChannel();  // each event comes by itself, as from a busy service
  let left = 6000;
  turns.port1.onmessage = () => {
    source.dispatchEvent(new MessageEvent("completed", { data: '{"event":"completed"}' }));
    left-- ? turns.port2.postMessage(0) : done();
  };
  turns.port2.postMessage(0);
})"""


async def worked(session: CDPSession) -> float:
    """How long the page has kept its thread busy, in seconds."""
    metrics = (await session.send("Performance.getMetrics"))["metrics"]
    return float(next(each["value"] for each in metrics if each["name"] == "TaskDuration"))


async def test_a_burst_of_events_does_not_stop_the_page_and_a_refused_stream_is_asked_for_again(
    shop: Shop,
) -> None:
    page = await shop.page("operator", "/")
    live = page.get_by_role("button", name="live: stop showing changes")
    await page.add_init_script(KEPT_SOURCE)
    asked: list[Route] = []

    async def refuse_first(route: Route) -> None:
        asked.append(route)
        await (route.fulfill(status=502) if len(asked) == 1 else route.continue_())

    await page.route("**/events", refuse_first)
    await page.reload()
    await expect(page.locator("table").get_by_text("email")).to_be_visible()
    await expect(live).to_be_visible()
    assert len(asked) == 2
    session = await page.context.new_cdp_session(page)
    await session.send("Performance.enable")
    before = await worked(session)
    await page.evaluate(BURST)
    spent = await worked(session) - before
    assert spent < BUSY


async def test_many_tabs_share_one_stream_and_another_takes_it_over(shop: Shop) -> None:
    first = await shop.page("operator", "/jobs?q=owner:tabs")
    await expect(first.get_by_role("button", name="live: stop showing changes")).to_be_visible()
    streams: list[Request] = []
    first.context.on("request", lambda r: streams.append(r) if r.url.endswith("/events") else None)
    tabs = [await first.context.new_page() for _ in range(6)]
    for tab in tabs:
        await tab.goto("/dashboard/jobs?q=owner:tabs")
        await expect(tab.get_by_text("No job matches")).to_be_visible()
    assert streams == [], "the first tab has one, for all"
    await shop.app.tasks["send_receipt"].using(owner="tabs").aenqueue(order_id=1)
    for tab in (first, tabs[0], tabs[-1]):
        await expect(tab.locator("tr.row .state.completed")).to_have_count(1, timeout=10_000)
    await first.close()
    await expect(tabs[-1].get_by_role("button", name="live: stop showing changes")).to_be_visible()
    await shop.app.tasks["send_receipt"].using(owner="tabs").aenqueue(order_id=2)
    await expect(tabs[-1].locator("tr.row .state.completed")).to_have_count(2, timeout=10_000)
    assert len(streams) == 1
