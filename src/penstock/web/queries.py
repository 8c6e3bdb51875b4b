"""The query of a request: nothing but what its route declares.

What is passed over where it is misspelled would make a filter match everything.
"""

from __future__ import annotations

from collections.abc import Collection

from fastapi.dependencies.models import Dependant
from starlette.requests import Request

from penstock.web.refusals import Field, invalid, tellable

_PROBLEM = "is not a parameter of this request"


def declared(dependant: Dependant) -> frozenset[str]:
    """The parameters that a route declares, itself or by what it depends on."""
    own = frozenset(field.alias for field in dependant.query_params)
    return own.union(*(declared(inner) for inner in dependant.dependencies))


def check_query(request: Request, known: Collection[str], free: str | None = None) -> None:
    """Refusal where a parameter is neither known nor begins with what is `free`."""
    if not request.scope.get("query_string"):
        return
    unknown = [
        name
        for name in request.query_params
        if name not in known and (free is None or not name.startswith(free))
    ]
    if unknown:
        places = dict.fromkeys(tellable(name, "query") for name in unknown)
        told = [Field(place, _PROBLEM) for place in places]
        raise invalid(f"{told[0].field}: {_PROBLEM}", *told)
