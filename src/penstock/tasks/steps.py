"""The steps of one run: what runs before it have kept, and what it has asked for itself."""

from __future__ import annotations

from typing import Any

from penstock.model.errors import InvalidOption, LeaseLost
from penstock.model.job import Claim
from penstock.model.names import check_text
from penstock.model.redaction import Clean, redacted
from penstock.model.values import MAX_RESULT_BYTES, dumps

_SLEEP = "sleep "  # and its number within the run: the name of the step that remembers it


class Steps:
    """Known from the first use on. A handler asks for each name once in a run."""

    __slots__ = ("_asked", "_claim", "_clean", "_sleeps", "kept")

    def __init__(self, claim: Claim, clean: Clean = redacted) -> None:
        self._claim = claim
        self._clean = clean
        self._asked: set[str] = set()
        self._sleeps = 0
        self.kept: dict[str, str] | None = None  # None: not read yet

    def ask(self, name: str) -> str:
        """The name as it is kept, without secrets; once in a run: the second would get the first's result."""
        what = "the name of a step"
        name = check_text(what, self._clean(check_text(what, name)))
        if name.startswith(_SLEEP):
            raise InvalidOption(f"the name of a step cannot begin with {_SLEEP!r}: sleeps are kept under it")
        if name in self._asked:
            raise InvalidOption(
                f"step {name!r} is done twice in one run; give each step a name of its own, without secrets"
            )
        self._asked.add(name)
        return name

    def ask_sleep(self) -> tuple[str, str]:
        """The name of the next sleep, and what is kept when it begins: when this run was due.

        A run that is due at another time comes after the sleep. One that is due at the same time comes after
        a crash, before the sleep was written.
        """
        self._sleeps += 1
        return f"{_SLEEP}{self._sleeps}", f'"{self._claim.due_at.isoformat()}"'

    def read(self, kept: dict[str, str]) -> dict[str, str]:
        """What the engine has kept. Steps may begin at the same time: the first answer is the one used."""
        if self.kept is None:
            self.kept = kept
        return self.kept

    def written(self, name: str, value: Any) -> str:
        return dumps(value, MAX_RESULT_BYTES, f"the result of step {name!r}")

    def keep(self, name: str, text: str, accepted: bool) -> None:
        """The engine has answered whether it kept this."""
        if not accepted:
            raise lost(self._claim)
        assert self.kept is not None
        self.kept[name] = text


def lost(claim: Claim) -> LeaseLost:
    return LeaseLost(f"job {claim.id} has passed on: what this run does next, another may be doing now")
