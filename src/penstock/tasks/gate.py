"""Feature gates: a task or a queue that can be switched off without losing anything."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, TypeAlias, get_args

from penstock.model.errors import InvalidOption

Switch: TypeAlias = bool | Callable[[], bool]
WhenDisabled: TypeAlias = Literal["refuse", "park"]


@dataclass(frozen=True, slots=True)
class Gate:
    """Whether jobs may go in and run now.

    While it is closed nothing runs, and enqueueing is refused, or accepted and kept aside ("park").
    """

    what: str  # "task 'resize'", for people
    enabled: Switch = True
    when_disabled: WhenDisabled = "refuse"

    def __post_init__(self) -> None:
        if not isinstance(self.enabled, bool) and not callable(self.enabled):
            raise InvalidOption(f"enabled= of {self.what} takes a bool or a function that returns one")
        if self.when_disabled not in get_args(WhenDisabled):
            raise InvalidOption(
                f"when_disabled= of {self.what} is {self.when_disabled!r}; use 'refuse' or 'park'"
            )

    @property
    def always_open(self) -> bool:
        return self.enabled is True

    def closed(self) -> str | None:
        """Why the gate is closed now, in one sentence; None while it is open."""
        if isinstance(self.enabled, bool):
            return None if self.enabled else f"{self.what} is switched off"
        # A flag that cannot be read keeps the work back: nothing is lost that way.
        try:
            is_open = self.enabled()
        except Exception as error:  # noqa: BLE001
            return f"{self.what} is held back: its enabled= check raised {type(error).__name__}"
        return None if is_open else f"{self.what} is switched off by its enabled= check"
