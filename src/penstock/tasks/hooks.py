"""`app.hook`: a program elsewhere that may make an event happen here, by signed requests."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from penstock.model.errors import InvalidOption
from penstock.model.names import check_name
from penstock.model.signing import verify

if TYPE_CHECKING:
    from penstock.tasks.registry import Registry

SHORTEST = 16  # characters of a secret


@dataclass(frozen=True, slots=True)
class Hook:
    """Who sends, what that means here, and how it is known to come from there."""

    source: str
    event: str
    secrets: tuple[str, ...] = field(repr=False)
    id_field: str | None = None

    def is_signed(self, header: str, body: bytes, now: float) -> bool:
        """Whether one of the secrets has signed this, lately."""
        return verify(self.secrets, header, body, now)

    def id_in(self, payload: Mapping[str, Any]) -> str | None:
        """What the sender calls this delivery, where it says so."""
        found = payload.get(self.id_field) if self.id_field else None
        return f"{found}"[:200] if isinstance(found, str | int) else None


class Hooking:
    """The part of an app that takes signed requests of others as events."""

    registry: Registry

    def hook(
        self,
        source: str,
        *,
        secret: str | Sequence[str],
        event: str,
        id: str | None = "id",  # noqa: A002
    ) -> None:
        """Declare that `POST /hooks/{source}` emits an event, where the request is signed with the secret.

        Give several secrets while one takes the place of another. `id` names the field of the body that tells
        deliveries apart: the same one twice makes its jobs once.
        """
        secrets = (secret,) if isinstance(secret, str) else tuple(secret)
        if not secrets or any(len(each) < SHORTEST for each in secrets):
            raise InvalidOption(f"hook {source!r} needs a secret of at least {SHORTEST} characters")
        hook = Hook(check_name("hook", source), check_name("event", event), secrets, id)
        known = self.registry.hooks.setdefault(source, hook)
        if known != hook:
            raise InvalidOption(f"hook {source!r} is declared already, in another way")
