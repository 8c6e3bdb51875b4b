"""The dashboard: one page, its script and its style, named by their content; all else it asks of the API."""

from __future__ import annotations

import html
import json
from importlib import resources
from typing import Any

from fastapi import FastAPI, Request
from starlette.responses import HTMLResponse, RedirectResponse, Response

from penstock.web.guard import needs
from penstock.web.refusals import not_found

AT = "/dashboard"
TYPES = {"js": "text/javascript", "css": "text/css"}
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
    "base-uri 'none'; form-action 'self'; frame-ancestors 'none'"
)
NOT_BUILT = (
    "<!doctype html><title>Penstock</title><p>The dashboard is not built here: run <code>make ui</code>."
)


def register(service: FastAPI) -> None:
    options: dict[str, Any] = {"include_in_schema": False}
    service.get("/", **options)(front)
    service.get(f"{AT}/assets/{{name}}", **options)(asset)
    service.get(AT, **options)(page)
    service.get(f"{AT}/{{path:path}}", **options)(page)


@needs(None, free="")
async def front(request: Request) -> Response:
    """Whoever comes with a browser is shown the dashboard."""
    return RedirectResponse(f"{_prefix(request)}{AT}/", status_code=307)


@needs(None, free="")
async def page(request: Request) -> Response:
    """The one page: it shows nothing that it has not asked of the API."""
    made = _manifest()
    if made is None:
        return HTMLResponse(NOT_BUILT, status_code=503)
    return HTMLResponse(_page(_prefix(request), made), headers={"Content-Security-Policy": POLICY})


@needs(None, free="")
async def asset(name: str) -> Response:
    """The script or the style; by their names, which are in the manifest, and nothing else."""
    made = _manifest() or {}
    if name not in made.values():
        raise not_found()
    return Response(
        (_static() / name).read_bytes(),
        media_type=TYPES[name.rpartition(".")[2]],
        headers={"Cache-Control": "public, max-age=31536000, immutable"},
    )


def is_built() -> bool:
    """Whether there is anything to show: wheels have it, a checkout only once it is made."""
    return _manifest() is not None


def _page(prefix: str, made: dict[str, str]) -> str:
    api, pages = html.escape(prefix), html.escape(prefix + AT)
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f'<meta name="penstock-api" content="{api}"><meta name="penstock-pages" content="{pages}">'
        '<link rel="icon" href="data:,"><title>Penstock</title>'
        f'<link rel="stylesheet" href="{pages}/assets/{made["style"]}">'
        f'<script type="module" src="{pages}/assets/{made["script"]}"></script>'
        '</head><body><div id="app"></div><noscript>The dashboard needs JavaScript.</noscript></body></html>'
    )


def _manifest() -> dict[str, str] | None:
    try:
        made: dict[str, str] = json.loads((_static() / "manifest.json").read_text())
    except FileNotFoundError:
        return None
    return made


def _static() -> Any:
    return resources.files("penstock.web") / "static"


def _prefix(request: Request) -> str:
    """Where the service is mounted."""
    return str(request.scope.get("root_path", "")).rstrip("/")
