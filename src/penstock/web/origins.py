"""Which pages may open a stream: those of this very host."""

from __future__ import annotations

from urllib.parse import urlsplit

from starlette.requests import HTTPConnection


def is_foreign(request: HTTPConnection) -> bool:
    """Whether a page of another site asks. Programs that are no browsers send no Origin."""
    origin = request.headers.get("origin")
    if origin is None:
        return request.headers.get("sec-fetch-site", "none") not in {"none", "same-origin"}
    return not _is_host(urlsplit(origin).netloc, request.headers.get("host"))


def _is_host(netloc: str, host: str | None) -> bool:
    return bool(netloc) and host is not None and netloc.lower() == host.lower()
