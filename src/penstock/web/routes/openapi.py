"""The OpenAPI document of the service, without anything from elsewhere."""

from __future__ import annotations

from typing import Any

from fastapi import FastAPI, Request
from fastapi.openapi.utils import get_openapi
from fastapi.responses import JSONResponse

from penstock.model.access import Scope
from penstock.web.guard import GuardedRoute, needs
from penstock.web.shapes.refusals import Refused

SECURITY = {"token": {"type": "http", "scheme": "bearer", "description": "penstock token create"}}


def register(service: FastAPI) -> None:
    service.get("/openapi.json", include_in_schema=False)(openapi)


@needs(Scope.READ)
async def openapi(request: Request) -> JSONResponse:
    """What this service can do, for programs."""
    prefix = request.scope.get("root_path", "").rstrip("/")
    document = document_of(request.app)
    return JSONResponse(document | {"servers": [{"url": prefix or "/"}]})


def document_of(service: FastAPI) -> dict[str, Any]:
    """The document, made once."""
    if service.openapi_schema is None:
        service.openapi_schema = _made(service)
    return service.openapi_schema


def _made(service: FastAPI) -> dict[str, Any]:
    document = get_openapi(title=service.title, version=service.version, routes=service.routes)
    document.setdefault("components", {})["securitySchemes"] = SECURITY
    for route in service.routes:
        if isinstance(route, GuardedRoute) and route.include_in_schema:
            for method in route.methods or ():
                _annotate(document["paths"][route.path_format][method.lower()], route)
    schemas = document["components"]["schemas"]
    refused = Refused.model_json_schema(ref_template="#/components/schemas/{model}")
    schemas |= refused.pop("$defs") | {"Refused": refused}
    # Nothing is answered with FastAPI's own shape of a validation error.
    for name in ("HTTPValidationError", "ValidationError"):
        schemas.pop(name, None)
    return document


def _annotate(operation: dict[str, Any], route: GuardedRoute) -> None:
    operation["responses"].pop("422", None)
    if route.need.scope is not None:
        operation["security"] = [{"token": []}]
        operation["x-scope"] = route.need.scope.value
