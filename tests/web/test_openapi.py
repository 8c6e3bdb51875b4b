"""The OpenAPI document: whole, true, and without anything from elsewhere."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from penstock.web.guard import GuardedRoute
from web.fuzz import fuzz
from web.kit import Shop, service

OPEN = {
    *(("/hooks/{source}", "POST"), ("/session", "POST"), ("/session", "DELETE")),
    *(("/healthz", "GET"), ("/readyz", "GET")),
}


async def test_the_document_has_every_route_with_its_scope_and_every_refusal_in_one_shape(shop: Shop) -> None:
    document = (await shop.ask("GET", "/openapi.json", "ana")).json()
    told = {
        (path, method.upper()): operation
        for path, operations in document["paths"].items()
        for method, operation in operations.items()
    }
    routes = [r for r in service().routes if isinstance(r, GuardedRoute) and r.include_in_schema]
    assert told.keys() == {(r.path_format, method) for r in routes for method in r.methods or ()}
    for (path, method), operation in told.items():
        assert ("x-scope" in operation) == ((path, method) not in OPEN)
        assert "422" not in operation["responses"]
        refused = operation["responses"]["400"]["content"]["application/json"]["schema"]
        assert refused == {"$ref": "#/components/schemas/Refused"}
    assert "http" not in json.dumps(document).replace('"http"', "")


async def test_no_two_templates_are_the_same_path(shop: Shop) -> None:
    import re

    paths = (await shop.ask("GET", "/openapi.json")).json()["paths"]
    assert len({re.sub(r"\{\w+\}", "{}", path) for path in paths}) == len(paths)


@pytest.mark.timeout(180)
async def test_every_path_allows_the_methods_that_the_document_has_for_it(shop: Shop) -> None:
    document = (await shop.ask("GET", "/openapi.json", "ana")).json()
    for path, operations in document["paths"].items():
        refused = await shop.ask("OPTIONS", path.replace("{", "").replace("}", ""), "ana")
        assert refused.headers["allow"] == ", ".join(sorted(method.upper() for method in operations)), path


def test_schemathesis_finds_nothing(tmp_path: Path) -> None:
    fuzz(tmp_path, "-n", "4", "--phases", "fuzzing", "--seed", "33")
