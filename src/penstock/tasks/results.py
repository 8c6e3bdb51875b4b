"""Results on their way out and back: written as strict JSON, read as the type the handler declares."""

from __future__ import annotations

from functools import cached_property
from typing import Any

from penstock.model.errors import InvalidOption, InvalidValue, ResultUnavailable
from penstock.model.failure import type_of
from penstock.model.values import dumps
from penstock.tasks.shapes import JsonForm, is_plain, json_form
from penstock.tasks.signature import Signature


class Results:
    """The results of one task."""

    def __init__(self, task: str, signature: Signature, limit: int) -> None:
        self._task = task
        self._signature = signature
        self._limit = limit

    def encode(self, value: Any) -> tuple[str | None, str | None]:
        """The result as JSON text; or None and why it cannot be kept. The work is done either way."""
        if value is None:
            return None, None
        try:
            return dumps(value if self._is_plain else self._form.dump(value), self._limit, "result"), None
        except InvalidValue as error:
            return None, str(error)
        except Exception as error:  # noqa: BLE001 - of the value's own type; what it was made for is done
            return None, f"writing it as JSON raised {type_of(error)}"

    def decode(self, text: str | None) -> Any:
        """The result as its declared type; ResultUnavailable where what is stored does not fit it."""
        from pydantic import ValidationError  # noqa: PLC0415

        try:
            return self._form.load(text if text is not None else "null")
        except ValidationError:
            pass
        raise ResultUnavailable(
            f"the job completed, but what it returned does not fit the return type of task {self._task!r}"
        )

    @cached_property
    def _is_plain(self) -> bool:
        return is_plain(self._type)

    @cached_property
    def _form(self) -> JsonForm:
        from pydantic import TypeAdapter  # noqa: PLC0415

        try:
            return json_form(TypeAdapter(self._type))
        except Exception:  # noqa: BLE001
            # The handler returns something of its own kind; unless it is JSON by itself it is dropped.
            return json_form(TypeAdapter(Any))

    @cached_property
    def _type(self) -> Any:
        try:
            return self._signature.returns
        except InvalidOption:  # there for the type checker only: no reason to lose what was done
            return Any
