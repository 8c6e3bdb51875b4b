"""What went wrong in one run, classified: the class decides what happens next and who is told."""

from __future__ import annotations

import errno
import re
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from types import TracebackType
from typing import Any, NamedTuple, TypeAlias

from penstock.model.errors import (
    CalledInLoop,
    InvalidArguments,
    InvalidOption,
    InvalidValue,
    RateLimited,
    UnknownQueue,
    UnknownTask,
    Unrecoverable,
)
from penstock.model.redaction import Clean, redacted

MAX_NAME = 100
MAX_MESSAGE = 2_000
MAX_TRACEBACK = 6_000

_CUT = re.compile(r" … \[(\d{1,12}) cut\] … ?")


class FailureClass(StrEnum):
    TRANSIENT = "transient"
    RATE_LIMIT = "rate_limit"
    INVALID_INPUT = "invalid_input"
    RESOURCE_UNAVAILABLE = "resource_unavailable"
    LOGIC_ERROR = "logic_error"
    SYSTEM_FAILURE = "system_failure"


class Alert(StrEnum):
    NONE = "none"
    WARNING = "warning"
    ERROR = "error"
    CRITICAL = "critical"


@dataclass(frozen=True, slots=True)
class Handling:
    """What a class of failure leads to."""

    retry: bool
    alert: Alert
    page: bool = False


HANDLING: dict[FailureClass, Handling] = {
    FailureClass.TRANSIENT: Handling(retry=True, alert=Alert.NONE),
    FailureClass.RATE_LIMIT: Handling(retry=True, alert=Alert.WARNING),
    FailureClass.INVALID_INPUT: Handling(retry=False, alert=Alert.ERROR),
    FailureClass.RESOURCE_UNAVAILABLE: Handling(retry=True, alert=Alert.CRITICAL),
    FailureClass.LOGIC_ERROR: Handling(retry=False, alert=Alert.ERROR),
    FailureClass.SYSTEM_FAILURE: Handling(retry=False, alert=Alert.CRITICAL, page=True),
}

BY_TYPE: dict[type[BaseException], FailureClass] = {
    RateLimited: FailureClass.RATE_LIMIT,
    Unrecoverable: FailureClass.LOGIC_ERROR,
    InvalidArguments: FailureClass.INVALID_INPUT,
    InvalidValue: FailureClass.INVALID_INPUT,
    InvalidOption: FailureClass.LOGIC_ERROR,
    UnknownQueue: FailureClass.LOGIC_ERROR,
    UnknownTask: FailureClass.LOGIC_ERROR,
    CalledInLoop: FailureClass.LOGIC_ERROR,
}

BY_CODE: dict[str, FailureClass] = {
    "ECONNRESET": FailureClass.TRANSIENT,
    "ETIMEDOUT": FailureClass.TRANSIENT,
    "LOCK_TIMEOUT": FailureClass.TRANSIENT,
    "DEADLOCK": FailureClass.TRANSIENT,
    "RATE_LIMITED": FailureClass.RATE_LIMIT,
    "INVALID_INPUT": FailureClass.INVALID_INPUT,
    "RESOURCE_UNAVAILABLE": FailureClass.RESOURCE_UNAVAILABLE,
    "LOGIC_ERROR": FailureClass.LOGIC_ERROR,
    "SYSTEM_FAILURE": FailureClass.SYSTEM_FAILURE,
}

# Where Python makes this type of one number alone; raised by hand, or by a library, they often have none.
BY_KIND: dict[type[BaseException], str] = {
    ConnectionAbortedError: "ECONNABORTED",
    ConnectionRefusedError: "ECONNREFUSED",
    ConnectionResetError: "ECONNRESET",
    TimeoutError: "ETIMEDOUT",
    FileExistsError: "EEXIST",
    FileNotFoundError: "ENOENT",
    IsADirectoryError: "EISDIR",
    NotADirectoryError: "ENOTDIR",
    InterruptedError: "EINTR",
    ProcessLookupError: "ESRCH",
    ChildProcessError: "ECHILD",
}

# Their numbers are OpenSSL's and the resolver's. By name: not every Python has them.
NUMBERED_OTHERWISE = {("ssl", "SSLError"), ("socket", "gaierror"), ("socket", "herror")}

Classifier: TypeAlias = Callable[[BaseException], FailureClass | str | None]


@dataclass(frozen=True, slots=True)
class Failure:
    """One failed run, as plain data: it holds no exception, so it keeps no frame alive, and no secret."""

    type: str
    message: str
    code: str | None = None
    failure_class: FailureClass = FailureClass.TRANSIENT
    traceback: str | None = None
    retry: bool = True
    retry_after: float | None = None
    note: str | None = None  # what went wrong while it was looked at
    causes: tuple[dict[str, Any], ...] = ()  # what lies behind it, nearest first


class Verdict(NamedTuple):
    """The class of a failure; `note` says where the user's own rule could not tell."""

    failure_class: FailureClass
    note: str | None = None


def classify(error: BaseException, rule: Classifier | None = None, clean: Clean = redacted) -> Verdict:
    """The user's own rule first, then the exception's type, then its `code`; unknown means transient."""
    if rule is None:
        return Verdict(_by_itself(error))
    # A rule that breaks must not hide the failure it was asked about.
    try:
        found = rule(error)
        return Verdict(_by_itself(error) if found is None else FailureClass(found))
    except BaseException as second:  # noqa: BLE001
        return Verdict(_by_itself(error), f"its classify= rule raised {described(second, clean)}")


def _by_itself(error: BaseException) -> FailureClass:
    for kind in type(error).__mro__:
        if kind in BY_TYPE:
            return BY_TYPE[kind]
    return BY_CODE.get(code_of(error) or "", FailureClass.TRANSIENT)


def type_of(error: BaseException) -> str:
    """The name of the error's type."""
    return shorten(type(error).__qualname__, MAX_NAME)


def code_of(error: BaseException) -> str | None:
    """The error's `code`, where it has a short textual one, or the name of its errno."""
    try:
        code = getattr(error, "code", None)
    except BaseException:  # noqa: BLE001 - a property of the user's
        code = None
    if isinstance(code, str) and 0 < len(code) <= MAX_NAME:
        return shorten(code, MAX_NAME)
    return _number_of(error) if isinstance(error, OSError) else None


def _number_of(error: OSError) -> str | None:
    kinds = type(error).__mro__
    if code := next((BY_KIND[kind] for kind in kinds if kind in BY_KIND), None):
        return code
    if any((kind.__module__, kind.__name__) in NUMBERED_OTHERWISE for kind in kinds):
        return None
    try:
        return errno.errorcode.get(error.errno)  # type: ignore[arg-type] # None has no name
    except BaseException:  # noqa: BLE001 - a property of the user's
        return None


def message_of(error: BaseException, clean: Clean = redacted) -> str:
    """The error's message without secrets, shortened, whatever its `__str__` does."""
    try:
        return shorten(clean(str(error)), MAX_MESSAGE)
    except BaseException:  # noqa: BLE001
        return f"<{shorten(type(error).__name__, MAX_NAME)} whose message cannot be read>"


def described(error: BaseException, clean: Clean = redacted) -> str:
    """The error in one line, for a note."""
    return f"{type_of(error)}: {message_of(error, clean)}"


def traceback_of(error: BaseException, clean: Clean = redacted) -> str:
    """Where it happened: the innermost frames of the stack, without the values of variables."""
    frames = traceback.format_tb(_from_handler(error.__traceback__), limit=-20)
    return shorten(clean("".join(frames)), MAX_TRACEBACK)


def _from_handler(place: TracebackType | None) -> TracebackType | None:
    """Without our own frames, through which every handler is called."""
    while place and place.tb_next and place.tb_frame.f_globals.get("__name__", "").startswith("penstock."):
        place = place.tb_next
    return place


def shorten(text: str, limit: int) -> str:
    """Cut `text` to `limit` characters, keep both ends, and drop what no engine can store."""
    if len(text) > limit:
        half = max((limit - 20) // 2, 1)
        text = f"{text[:half]} … [{_characters(text[half:-half])} cut] … {text[-half:]}"
    return text.replace("\x00", "").encode(errors="replace").decode()


def _characters(text: str) -> int:
    """How many they are, with those that were cut out of it before."""
    before = _CUT.search(text)
    return len(text) + (int(before[1]) - len(before[0]) if before else 0)
