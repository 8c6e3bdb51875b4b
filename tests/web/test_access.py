"""Who may do what, over every route there is: the list is the router's own."""

from __future__ import annotations

import json
import re
from typing import Any

import httpx
import pytest

from penstock.web.guard import GuardedRoute
from web.kit import HOOK_SECRET, PEOPLE, Shop, service

METHODS = ("GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS", "TRACE")
NOBODY = "00000000-0000-7000-8000-000000000000"
# What shows nothing, or asks for something else than a token, and its answers to an empty request.
OPEN = {
    "/": {307},
    "/dashboard": {200},
    "/dashboard/assets/{name}": {404},
    "/dashboard/{path:path}": {200},
    "/healthz": {200},
    "/hooks/{source}": {401},
    "/readyz": {200},
    "/session": {400},
}

ROUTES = [route for route in service().routes if isinstance(route, GuardedRoute)]
PATHS = sorted({route.path for route in ROUTES})


def filled(path: str, **ids: str) -> str:
    if path.endswith("/events"):
        path += "?seconds=0"  # it would not end by itself
    return re.sub(r"\{(\w+)(?::\w+)?\}", lambda found: ids.get(found[1], NOBODY), path)


def needed(path: str, method: str) -> GuardedRoute | None:
    at = filled(path).partition("?")[0]
    return next((r for r in ROUTES if r.path_regex.match(at) and method in (r.methods or ())), None)


def test_every_route_is_guarded_and_only_the_named_ones_are_open() -> None:
    assert len(service().routes) == len(ROUTES)
    assert {route.path for route in ROUTES if route.need.scope is None} == OPEN.keys()


@pytest.mark.parametrize("path", PATHS)
async def test_a_route_lets_in_exactly_those_who_may_by_exactly_its_methods(shop: Shop, path: str) -> None:
    wrong = []
    for method in METHODS:
        for who in (None, *PEOPLE):
            answer = await shop.ask(method, filled(path), who)
            if not as_expected(needed(path, method), who, answer):
                wrong.append((method, who, answer.status_code, answer.text))
            assert answer.headers["x-content-type-options"] == "nosniff"
    assert not wrong


def as_expected(route: GuardedRoute | None, who: str | None, answer: httpx.Response) -> bool:
    status = answer.status_code
    if route is None:
        return status == 405 and "Allow" in answer.headers
    need = route.need
    if route.path == "/session" and "DELETE" in (route.methods or ()):
        return status == (401 if who is None else 204)  # whatever their scopes are
    if need.scope is None:
        return status in OPEN[route.path]
    if who is None:
        return status == 401
    principal = PEOPLE[who]
    lacks = not principal.may(need.scope) or (need.everything and not principal.sees_all)
    if lacks or (not principal.has_owner and not principal.sees_all):
        return status == 403
    return status in {200, 202, 204, 400, 404}


@pytest.mark.parametrize("who", ["orphan", "nameless", "star"])
async def test_an_owner_who_is_missing_empty_or_called_everybody_sees_and_makes_nothing(
    shop: Shop, who: str
) -> None:
    await shop.enqueue(who="ana")
    assert (await shop.ask("GET", "/jobs", who)).status_code == 403
    body = {"task": "send", "payload": {"to": "x"}}
    assert (await shop.ask("POST", "/jobs/email_queue", who, json=body)).status_code == 403
    for owner in ("", "*"):
        assert (await shop.ask("POST", "/jobs/email_queue", json={**body, "owner": owner})).status_code == 400
        assert (await shop.ask("GET", f"/jobs?owner={owner}", "ana")).status_code in {400, 403}


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"origin": "http://evil.example"}, 403),
        ({"origin": "null"}, 403),
        ({"origin": "http://penstock.test:81"}, 403),
        ({"sec-fetch-site": "cross-site"}, 403),
        ({"origin": "http://penstock.test"}, 200),
        ({}, 200),
    ],
    ids=str,
)
async def test_a_page_of_another_site_changes_nothing_whatever_its_browser_sends_along(
    shop: Shop, headers: dict[str, str], status: int
) -> None:
    for path in ("pause", "resume"):
        answer = await shop.ask("POST", f"/queues/email_queue/{path}", "operator", headers=headers)
        assert answer.status_code == status


# -- owners --------------------------------------------------------------------------
async def furnished(shop: Shop) -> dict[str, str]:
    """Things of ana's, of each kind that has an owner."""
    dead = await shop.dead("ana")
    job = await shop.enqueue(who="ana", delay=600, key="canary-key")
    flow = shop.app.flow("canary-flow")
    flow.add(shop.app.tasks["report"].using(owner="ana").call())
    made = await flow.aenqueue()
    return {"job": job, "dead": dead, "flow": made.id}


async def everything(shop: Shop) -> str:
    """The state of it all, but for what was noted of the looking."""
    async with shop.client("admin") as client:
        pages = [await client.get(path) for path in ("/jobs", "/dead-letters", "/flows", "/queues")]
    return json.dumps([page.json() for page in pages])


async def test_to_another_owner_what_is_mine_is_as_if_it_were_not_there_on_every_route(shop: Shop) -> None:
    mine = await furnished(shop)
    before = await everything(shop)
    bodies: list[Any] = [None, {}, {"count": 1, "confirm": "x"}, {"task": "send", "payload": {"to": "b"}}]
    for route in ROUTES:
        for method in route.methods or ():
            for kind in mine.values():
                ids = {"id": kind, "job_id": kind, "flow_id": kind, "name": "email_queue", "source": "nope"}
                for body in bodies if method == "POST" else [None]:
                    known = await shop.ask(method, filled(route.path, **ids), "bea", json=body)
                    unknown = await shop.ask(
                        method,
                        filled(route.path, **(ids | dict.fromkeys(("id", "job_id", "flow_id"), NOBODY))),
                        "bea",
                        json=body,
                    )
                    told = f"{method} {route.path} {body}: {known.text}"
                    assert (known.status_code, known.content) == (unknown.status_code, unknown.content), told
                    assert "canary" not in known.text, told
                    assert not any(each in known.text for each in mine.values()), told
    assert await everything(shop) == before, "and nothing of it is changed"


async def test_filters_do_not_reach_what_is_somebody_elses(shop: Shop) -> None:
    await furnished(shop)
    for query in ("", "?key=canary-key", "?key=ana/canary-key", "?task=fail", "?limit=200"):
        for path in ("/jobs", "/history", "/dead-letters"):
            if path == "/dead-letters" and "key" in query:
                continue
            answer = await shop.ask("GET", path + query, "bea")
            assert answer.status_code == 200
            assert [found for found in answer.json().values() if found] == []
    assert (await shop.ask("GET", "/jobs?owner=ana", "bea")).status_code == 403
    count = await shop.ask("GET", "/dead-letters/count?action=purge", "bea")
    assert count.json()["count"] == 0


@pytest.mark.parametrize("site", ["cross-site", "same-site"])
async def test_a_page_of_another_site_changes_nothing_whoever_is_signed_in(shop: Shop, site: str) -> None:
    job = await shop.enqueue(delay=600)
    async with shop.client("admin", **{"sec-fetch-site": site}) as client:
        for path in (f"/jobs/{job}/cancel", "/jobs/default", "/queues/default/pause", "/hooks/payments"):
            assert (await client.post(path, content=b"")).status_code == 403
    assert (await shop.ask("GET", f"/jobs/{job}")).json()["state"] == "delayed"


async def test_what_is_refused_has_one_shape_and_no_secret(shop: Shop) -> None:
    for path in ("/nope", "/jobs/x", "/jobs?limit=x", "/audit"):
        answer = await shop.ask("GET", path, "ana")
        error = answer.json()["error"]
        assert error.keys() == {"code", "message", "fields"}
        assert HOOK_SECRET not in answer.text
