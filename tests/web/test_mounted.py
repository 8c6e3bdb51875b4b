"""The service inside another app: FastAPI, Starlette, Django."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import httpx
import pytest
from fastapi import FastAPI
from starlette.applications import Starlette
from starlette.routing import Mount
from starlette.types import ASGIApp

from lent_kit import set_up_django
from penstock import Penstock
from penstock.web import Limits, make_service
from web.kit import auth, make_shop


@pytest.fixture
def app(tmp_path: Path) -> Penstock:
    return make_shop(f"sqlite:///{tmp_path / 'jobs.db'}")


@asynccontextmanager
async def client(outer: ASGIApp, who: str = "admin") -> AsyncIterator[httpx.AsyncClient]:
    transport = httpx.ASGITransport(outer)
    headers = {"authorization": who}
    async with httpx.AsyncClient(transport=transport, base_url="http://test", headers=headers) as made:
        yield made


async def works(outer: ASGIApp) -> None:
    async with client(outer) as asking:
        made = await asking.post("/penstock/jobs/email_queue", json={"task": "send", "payload": {"to": "a"}})
        assert made.status_code == 202, made.text
        seen = await asking.get(f"/penstock/jobs/{made.json()['job_id']}")
        assert seen.json()["status"] == "pending"
        document = (await asking.get("/penstock/openapi.json")).json()
        assert document["servers"] == [{"url": "/penstock"}]
        refused = await asking.put(f"/penstock/jobs/{made.json()['job_id']}")
        assert (refused.status_code, refused.headers["allow"]) == (405, "GET, POST")
        assert (await asking.get("/penstock/nope")).json()["error"]["code"] == "not_found"
        await has_dashboard(asking)
    async with client(outer, "nobody") as asking:
        assert (await asking.get("/penstock/jobs")).status_code == 401


async def has_dashboard(asking: httpx.AsyncClient) -> None:
    """Its page, its script and its style, all below where it is mounted."""
    front = await asking.get("/penstock/")
    assert (front.status_code, front.headers["location"]) == (307, "/penstock/dashboard/")
    page = await asking.get("/penstock/dashboard/jobs/some-id")
    assert '<meta name="penstock-api" content="/penstock">' in page.text
    assert '<meta name="penstock-pages" content="/penstock/dashboard">' in page.text
    files = re.findall(r'(?:src|href)="(/[^"]+)"', page.text)
    assert len(files) == 2
    for file in files:
        assert (await asking.get(file)).status_code == 200


async def test_in_fastapi_with_the_app_opened_by_its_lifespan(app: Penstock) -> None:
    outer = FastAPI(docs_url=None)
    outer.mount("/penstock", make_service(app, auth=auth))
    async with app:
        await works(outer)


async def test_in_starlette_the_app_is_opened_by_the_first_request(app: Penstock) -> None:
    service = make_service(app, auth=auth)
    await works(Starlette(routes=[Mount("/penstock", service)]))
    assert app.is_open_here
    await service.state.doorway.close()
    assert not app.is_open_here


async def test_beside_django(app: Penstock) -> None:
    set_up_django()
    from django.core.handlers.asgi import ASGIHandler
    from django.test import override_settings

    with override_settings(ROOT_URLCONF="web.django_urls", ALLOWED_HOSTS=["*"]):
        outer = Starlette(
            routes=[Mount("/penstock", make_service(app, auth=auth)), Mount("/", ASGIHandler())]
        )
        async with app:
            await works(outer)
            async with client(outer) as asking:
                assert (await asking.get("/hello")).text == "from Django"


async def test_mounted_without_tokens_and_without_auth_it_is_closed(app: Penstock) -> None:
    outer = FastAPI(docs_url=None)
    outer.mount("/penstock", make_service(app, limits=Limits(wrong_tokens=None)))
    async with app, client(outer) as asking:
        for path in ("/jobs", "/openapi.json", "/audit", "/tasks"):
            assert (await asking.get(f"/penstock{path}", headers={"host": "localhost"})).status_code == 401
