"""Events from outside, over HTTP."""

from __future__ import annotations

from pydantic import BaseModel

from penstock.web.shapes.fields import Count


class Heard(BaseModel):
    accepted: Count  # jobs that the event has made
