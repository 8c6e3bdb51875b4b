"""Who asks, and what they may do. Pure: how somebody proves who they are is for the surfaces to settle."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from penstock.model.errors import InvalidOption
from penstock.model.limits import Limit
from penstock.model.names import check_text

MAX_QUOTA = 1_000_000  # jobs of one owner: they are counted
EVERYBODY = "*"  # what a token that sees the jobs of all says in the place of an owner; nobody is called so


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
    all_owners: bool = False  # sees the jobs of everybody
    expires_at: datetime | None = None  # from then on it is nobody
    rate: Limit | None = None  # of its own, in the place of the service's
    max_waiting: int | None = None  # jobs of its owner that have not ended; None: as the app's settings say

    def may(self, scope: Scope) -> bool:
        return scope in self.scopes or Scope.ADMIN in self.scopes

    @property
    def sees_all(self) -> bool:
        """Whether the jobs of every owner are its business."""
        return Scope.ADMIN in self.scopes or self.all_owners

    @property
    def has_owner(self) -> bool:
        """Whether its owner is one that jobs can have: who has none sees nothing."""
        return isinstance(self.owner, str) and self.owner not in {"", EVERYBODY}

    def sees(self, owner: str | None) -> bool:
        """Whether a job of this owner is."""
        return self.sees_all or self.owns(owner)

    def owns(self, owner: str | None) -> bool:
        """Whether a job of this owner is its own."""
        return self.has_owner and self.owner == owner


def check_owner(owner: str) -> str:
    """The owner of a job: any text but the word for everybody."""
    if owner == EVERYBODY:
        raise InvalidOption(f"no owner is called {EVERYBODY!r}: that is the word for all of them")
    return check_text("owner", owner)
