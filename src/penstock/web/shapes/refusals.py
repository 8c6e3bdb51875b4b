"""What is said where a request is refused."""

from __future__ import annotations

from pydantic import BaseModel


class WrongField(BaseModel):
    field: str
    problem: str


class Problem(BaseModel):
    code: str
    message: str
    fields: list[WrongField]


class Refused(BaseModel):
    """The shape of every error."""

    error: Problem
