"""Connections that a caller lends us, whichever driver or framework they come from; none is imported here."""

from penstock.lent.connection import AsyncLent, Dialect, Lent, Value
from penstock.lent.recognise import lent, require

__all__ = ["AsyncLent", "Dialect", "Lent", "Value", "lent", "require"]
