"""People in a browser, over HTTP."""

from __future__ import annotations

from pydantic import BaseModel

from penstock.model.access import Scope


class SessionView(BaseModel):
    """Who asks, and what they may do; `proof` goes with every change, in the header X-Penstock-Proof."""

    name: str
    owner: str | None
    scopes: list[Scope]
    engine: str
    proof: str | None
