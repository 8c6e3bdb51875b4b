"""Failure classes (B9), and how an exception becomes plain data."""

import errno
import socket
import ssl

import pytest

from penstock.model.errors import (
    CalledInLoop,
    InvalidArguments,
    InvalidOption,
    InvalidValue,
    Problem,
    RateLimited,
    UnknownQueue,
    UnknownTask,
    Unrecoverable,
    ValueTooLarge,
)
from penstock.model.failure import (
    HANDLING,
    MAX_MESSAGE,
    MAX_TRACEBACK,
    Alert,
    FailureClass,
    classify,
    code_of,
    message_of,
    shorten,
    traceback_of,
)
from penstock.model.retry import Retry


def coded(code: object) -> Exception:
    error = RuntimeError("no")
    error.code = code
    return error


def numbered(number: object) -> OSError:
    error = OSError()
    error.errno = number  # type: ignore[assignment]
    return error


@pytest.mark.parametrize(
    ("name", "retry", "alert", "page"),
    [
        ("transient", True, Alert.NONE, False),
        ("rate_limit", True, Alert.WARNING, False),
        ("invalid_input", False, Alert.ERROR, False),
        ("resource_unavailable", True, Alert.CRITICAL, False),
        ("logic_error", False, Alert.ERROR, False),
        ("system_failure", False, Alert.CRITICAL, True),
    ],
)
def test_each_class_is_handled_as_the_mission_says(name, retry, alert, page):
    handling = HANDLING[FailureClass(name)]
    assert (handling.retry, handling.alert, handling.page) == (retry, alert, page)


def test_every_class_is_handled():
    assert set(HANDLING) == set(FailureClass)


@pytest.mark.parametrize(
    ("error", "expected"),
    [
        (KeyError("x"), "transient"),
        (RateLimited(5), "rate_limit"),
        (Unrecoverable("no"), "logic_error"),
        (InvalidArguments("t", [Problem("a", "wrong")]), "invalid_input"),
        (InvalidValue("no"), "invalid_input"),
        (ValueTooLarge("no"), "invalid_input"),
        (ConnectionResetError(), "transient"),
        (TimeoutError(), "transient"),
        (coded("ECONNRESET"), "transient"),
        (coded("LOCK_TIMEOUT"), "transient"),
        (coded("DEADLOCK"), "transient"),
        (coded("RATE_LIMITED"), "rate_limit"),
        (coded("INVALID_INPUT"), "invalid_input"),
        (coded("RESOURCE_UNAVAILABLE"), "resource_unavailable"),
        (coded("LOGIC_ERROR"), "logic_error"),
        (coded("SYSTEM_FAILURE"), "system_failure"),
        (coded("WHATEVER"), "transient"),
        (CalledInLoop("use aenqueue"), "logic_error"),
        (InvalidOption("no such"), "logic_error"),
        (UnknownTask("no such"), "logic_error"),
        (UnknownQueue("no such"), "logic_error"),
    ],
)
def test_errors_are_classified_by_type_then_code_and_else_transient(error, expected):
    assert classify(error) == (expected, None)


@pytest.mark.parametrize("answer", ["logic_error", FailureClass.LOGIC_ERROR])
def test_the_users_rule_comes_first(answer):
    assert classify(RateLimited(5), lambda _: answer).failure_class is FailureClass.LOGIC_ERROR


def broken(_error: BaseException) -> FailureClass:
    raise ZeroDivisionError


@pytest.mark.parametrize("rule", [lambda _: None, lambda _: "no such class", broken])
def test_a_rule_that_does_not_answer_hides_nothing(rule):
    assert classify(RateLimited(5), rule).failure_class is FailureClass.RATE_LIMIT


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (coded("SHORT"), "SHORT"),
        (coded(""), None),
        (coded("x" * 101), None),
        (coded(404), None),
        (KeyError(), None),
        (ConnectionResetError(), "ECONNRESET"),
        (TimeoutError(), "ETIMEDOUT"),
        (RateLimited(1), "RATE_LIMITED"),
        (OSError(errno.EHOSTUNREACH, "no way there"), "EHOSTUNREACH"),
        (OSError(errno.ECONNREFUSED, "refused"), "ECONNREFUSED"),
        (ConnectionRefusedError(), "ECONNREFUSED"),
        (ConnectionAbortedError("given up"), "ECONNABORTED"),
        (OSError(errno.EPIPE, "broken"), "EPIPE"),
        (OSError(errno.ESHUTDOWN, "shut"), "ESHUTDOWN"),
        (BrokenPipeError(), None),  # of one of two numbers, and nobody knows which
        (FileNotFoundError("no such file"), "ENOENT"),
        (OSError(errno.EACCES, "not yours"), "EACCES"),
        (OSError(errno.ENOSPC, "full"), "ENOSPC"),
        (OSError(10**6, "no such number"), None),
        (OSError("no number"), None),
        (numbered([errno.EPIPE]), None),
        (ssl.SSLError(1, "bad certificate"), None),  # the numbers of these are not the system's
        (socket.gaierror(8, "unknown host"), None),
        (socket.herror(1, "unknown host"), None),
    ],
    ids=repr,
)
def test_codes_are_short_text_or_the_name_of_the_systems_number(error, code):
    assert code_of(error) == code


def test_a_number_that_cannot_be_read_is_no_second_failure():
    class Rude(OSError):
        @property
        def errno(self) -> int:
            raise ZeroDivisionError

    assert code_of(Rude()) is None


@pytest.mark.parametrize(
    "error", [ConnectionRefusedError(), OSError(errno.ECONNREFUSED, "refused")], ids=repr
)
def test_a_retry_may_name_the_systems_errors(error):
    assert Retry(3, retry_on=("ECONNREFUSED",)).allows(error, FailureClass.TRANSIENT)
    assert not Retry(3, no_retry_on=("ECONNREFUSED",)).allows(error, FailureClass.TRANSIENT)
    assert not Retry(3, retry_on=("EHOSTUNREACH",)).allows(error, FailureClass.TRANSIENT)


def test_a_message_that_cannot_be_read_is_no_second_failure():
    class Rude(Exception):
        def __str__(self) -> str:
            raise ZeroDivisionError

    assert message_of(Rude()) == "<Rude whose message cannot be read>"


def test_a_huge_message_is_cut_in_the_middle():
    message = message_of(ValueError("a" * 10_000_000 + "z"))
    assert len(message) <= MAX_MESSAGE + 20
    assert message.startswith("aaa")
    assert "cut" in message
    assert message.endswith("z")


def test_a_traceback_shows_where_and_not_the_values():
    secret = "hunter2"
    try:
        int(secret * 2)
    except ValueError as error:
        text = traceback_of(error)
    assert "test_a_traceback_shows_where" in text
    assert "hunter2hunter2" not in text


def test_a_deep_traceback_keeps_the_innermost_frames_within_bounds():
    def down(n: int) -> None:
        if n == 0:
            raise ZeroDivisionError
        down(n - 1)

    with pytest.raises(ZeroDivisionError) as caught:
        down(300)
    text = traceback_of(caught.value)
    assert len(text) <= MAX_TRACEBACK + 20
    assert text.rstrip().endswith("raise ZeroDivisionError")


def test_shorten_drops_what_no_engine_can_store():
    assert shorten("a\x00b\ud800c", 100) == "ab?c"
    assert shorten("short", 100) == "short"
