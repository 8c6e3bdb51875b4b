"""The query of a request: what its route does not know is refused, and never passed over."""

from __future__ import annotations

import re

import pytest

from penstock.web.guard import GuardedRoute
from web.kit import Shop, service

ROUTES = [
    (route, method)
    for route in service().routes
    if isinstance(route, GuardedRoute)
    for method in sorted(route.methods or ())
]
STRICT = [(route, method) for route, method in ROUTES if route.need.free != ""]


def _named(route: GuardedRoute, method: str) -> str:
    return f"{method} {route.path}"


def _unknown(name: str) -> dict[str, object]:
    return {
        "error": {
            "code": "invalid",
            "message": f"{name}: is not a parameter of this request",
            "fields": [{"field": name, "problem": "is not a parameter of this request"}],
        }
    }


@pytest.mark.parametrize(("route", "method"), STRICT, ids=[_named(route, method) for route, method in STRICT])
async def test_every_route_refuses_a_parameter_that_it_does_not_declare(
    shop: Shop, route: GuardedRoute, method: str
) -> None:
    refused = await shop.ask(method, re.sub(r"{\w+}", "some", route.path), params={"tsk": "boom"})
    assert (refused.status_code, refused.json()) == (400, _unknown("tsk"))


def test_only_pages_for_browsers_and_webhooks_take_any_query() -> None:
    free = {_named(route, method) for route, method in ROUTES if route.need.free == ""}
    pages = {"GET /", "GET /dashboard", "GET /dashboard/{path:path}", "GET /dashboard/assets/{name}"}
    probes = {f"GET {path}" for path in ("/healthz", "/readyz", "/metrics")}
    assert free == {*pages, *probes, "POST /hooks/{source}"}


async def test_a_misspelled_filter_gives_no_word_to_act_on_all(shop: Shop) -> None:
    kept = await shop.dead()
    for look in ("/jobs/matching?act=delete&stat=failed", "/dead-letters/count?action=purge&tsk=boom"):
        refused = await shop.ask("GET", look)
        assert refused.status_code == 400
        assert "confirm" not in refused.json()
    seen = (await shop.ask("GET", "/jobs/matching?act=delete")).json()
    sure = {name: seen[name] for name in ("cut_off", "count", "confirm")}
    assert (await shop.ask("POST", "/jobs/matching/delete?state=failed", json=sure)).status_code == 400
    word = (await shop.ask("GET", "/dead-letters/count?action=purge")).json()
    assert (await shop.ask("POST", "/dead-letters/bulk/purge?task=boom", json=word)).status_code == 400
    assert (await shop.ask("GET", f"/jobs/{kept}")).status_code == 200
    assert (await shop.ask("GET", f"/dead-letters/{kept}")).status_code == 200


async def test_what_a_route_declares_itself_or_by_what_it_depends_on_is_taken(shop: Shop) -> None:
    for asked in (
        "/jobs?queue=email_queue&state=failed&limit=2&tag=a&recovered=true",
        "/jobs/matching?act=delete&state=failed",
        "/dead-letters/count?action=purge&task=fail",
        "/events?seconds=0&event=job.completed&event=job.failed",
        "/jobs?",
    ):
        assert (await shop.ask("GET", asked)).status_code == 200, asked


async def test_all_unknown_parameters_are_told_but_not_whatever_is_sent_as_a_name(shop: Shop) -> None:
    refused = (await shop.ask("GET", "/jobs?b=1&limit=2&a=1&b=2&<script>=1&" + "x" * 300)).json()["error"]
    assert [each["field"] for each in refused["fields"]] == ["b", "a", "query"]
    assert "script" not in str(refused)


async def test_who_may_not_ask_is_told_that_first(shop: Shop) -> None:
    assert (await shop.ask("GET", "/jobs?tsk=boom", None)).status_code == 401


async def test_an_argument_can_be_asked_for_only_where_jobs_are_looked_for(shop: Shop) -> None:
    searched = (await shop.ask("GET", "/jobs?task=send&args.to=ana")).json()["error"]
    assert [each["field"] for each in searched["fields"]] == ["args"]  # it is not declared searchable
    elsewhere = await shop.ask("GET", "/history?args.to=ana")
    assert (elsewhere.status_code, elsewhere.json()) == (400, _unknown("args.to"))
