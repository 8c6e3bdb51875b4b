"""Who asks, and what they may do. Pure: how somebody proves who they are is for the surfaces to settle."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from penstock.model.limits import Limit

EVERYBODY = "*"  # the owner of a token that sees the jobs of all


class Scope(StrEnum):
    """What a token is good for. `admin` is good for everything."""

    ENQUEUE = "enqueue"
    READ = "read"
    OPERATE = "operate"
    PAYLOAD = "payload"  # see payloads, the results of others, and tracebacks
    ADMIN = "admin"


@dataclass(frozen=True, slots=True, kw_only=True)
class Principal:
    """Somebody who has been let in."""

    name: str  # for the audit log: "token:reports:4f1d…", "local:ana"
    scopes: frozenset[Scope]
    owner: str | None = None  # whose jobs it sees: nobody's where there is none
    expires_at: datetime | None = None  # from then on it is nobody
    rate: Limit | None = None  # of its own, in the place of the service's

    def may(self, scope: Scope) -> bool:
        return scope in self.scopes or Scope.ADMIN in self.scopes

    @property
    def sees_all(self) -> bool:
        """Whether the jobs of every owner are its business."""
        return Scope.ADMIN in self.scopes or self.owner == EVERYBODY

    def sees(self, owner: str | None) -> bool:
        """Whether a job of this owner is."""
        return self.sees_all or self.owns(owner)

    def owns(self, owner: str | None) -> bool:
        """Whether a job of this owner is its own."""
        return self.owner is not None and self.owner == owner
