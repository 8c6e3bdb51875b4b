"""Every statement of this engine, by the name of its file."""

from __future__ import annotations

from penstock.engines.statements import load

SQL = load("penstock.engines.sqlite")
