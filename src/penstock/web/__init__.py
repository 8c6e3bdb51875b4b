"""The HTTP service: parses, asks `ops`, renders. `make_service(app)` is a FastAPI app that can be mounted."""

from penstock.model.errors import MissingExtra

try:
    import fastapi as _fastapi  # noqa: F401 - only to say what to install where it is missing
except ImportError as _missing:
    raise MissingExtra(
        'the HTTP service needs FastAPI; install it with: pip install "penstock[web]"'
    ) from _missing

from penstock.model.access import Principal, Scope
from penstock.web.limits import Limits
from penstock.web.service import make_service

__all__ = ["Limits", "Principal", "Scope", "make_service"]
