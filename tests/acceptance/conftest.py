"""Where acceptance tests run: a site of their own, or the steady one that many share.

Each runs on one engine, chosen by its name, so that all engines have their share; with ACCEPTANCE=all
(`make acceptance`) on every engine.
"""

from __future__ import annotations

import os
import zlib
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from functools import cache
from pathlib import Path

import pytest

from acceptance import jobs
from acceptance.fleet import EFFECTS, Site, new_url, opened
from acceptance.world import World

ENGINES = ["sqlite", "postgres", "redis"]


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    for place in ("world", "steady_site"):
        if place in metafunc.fixturenames:
            metafunc.parametrize(place, _engines(metafunc.function.__name__), indirect=True, scope=None)


def _engines(test: str) -> list[str]:
    if os.environ.get("ACCEPTANCE") == "all":
        return ENGINES
    return [ENGINES[zlib.crc32(test.encode()) % len(ENGINES)]]


@pytest.fixture
def world(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[World]:
    """A site of the test's own."""
    yield from _world(Site(tmp_path / "site", new_url(request.param, tmp_path)), monkeypatch)


@pytest.fixture(scope="session")
def steady_sites(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[[str], Site]]:
    """One for each engine, side by side: a fixture with parameters is made anew whenever they change."""

    @cache
    def steady(kind: str) -> Site:
        folder = tmp_path_factory.mktemp("steady")
        site = Site(folder, new_url(kind, folder))
        closing.callback(site.close)
        with opened(jobs.app, site.url):
            World(site).up(site.start("--concurrency", "16"))
        return site

    with ExitStack() as closing:
        yield steady


@pytest.fixture
def steady_site(request: pytest.FixtureRequest, steady_sites: Callable[[str], Site]) -> Site:
    return steady_sites(request.param)


@pytest.fixture
def steady(steady_site: Site, monkeypatch: pytest.MonkeyPatch) -> Iterator[World]:
    """A site with one worker, shared by the tests that leave it as it was."""
    (tree,) = steady_site.trees[:1]
    before = tree.workers()
    yield from _world(steady_site, monkeypatch, close=False)
    assert tree.workers() == before, f"the worker did not survive\n{tree.log()}"


def _world(site: Site, monkeypatch: pytest.MonkeyPatch, *, close: bool = True) -> Iterator[World]:
    monkeypatch.setenv(EFFECTS, str(site.effects_path))
    try:
        with opened(jobs.app, site.url):
            yield World(site)
    finally:
        if close:
            site.close()
