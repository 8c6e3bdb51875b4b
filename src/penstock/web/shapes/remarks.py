"""Notes on dead letters, over HTTP."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated

from pydantic import AfterValidator, BaseModel, Field

from penstock.remarks import MAX_TEXT
from penstock.web.shapes.fields import NO_NUL, Said, storable

Remarked = Annotated[str, Field(min_length=1, max_length=MAX_TEXT, pattern=NO_NUL), AfterValidator(storable)]


class NewRemark(Said):
    text: Remarked


class RemarkView(BaseModel):
    id: str
    at: datetime
    who: str
    text: str


class Remarks(BaseModel):
    notes: list[RemarkView]
