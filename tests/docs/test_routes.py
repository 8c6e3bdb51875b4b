"""The page about HTTP tells every route that is served, and what each needs; and no other."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from penstock import Penstock
from penstock.web import make_service
from penstock.web.guard import GuardedRoute

PAGE = Path(__file__).parents[2] / "docs" / "http.md"


def shape(path: str) -> str:
    return re.sub(r"{[^}]*}", "{}", path)


def told() -> Iterator[tuple[str, str, str]]:
    table = PAGE.read_text().partition("| route | scope | |")[2].partition("\n\n")[0]
    for row in table.splitlines()[2:]:
        routes, scope = row.split("|")[1:3]
        method = path = ""
        for span in re.findall(r"`([^`]*)`", routes):
            if span.startswith("/"):  # `/retry` after `POST /jobs/{id}/cancel`
                path = path.rpartition("/")[0] + span
            else:
                method, _, path = span.partition(" ")
            yield method, shape(path), scope.strip().replace("\\", "")


def served() -> Iterator[tuple[str, str, str]]:
    for route in make_service(Penstock("sqlite:///:memory:")).routes:
        assert isinstance(route, GuardedRoute)
        scope = "none" if route.need.scope is None else f"{route.need.scope}{' *' * route.need.everything}"
        for method in route.methods or ():
            yield method, shape(route.path), scope


def test_every_route_is_on_the_page_with_what_it_needs() -> None:
    assert sorted(told()) == sorted(served())
