"""Errors: the tree in the module's text is the tree there is, and messages never leak values."""

import inspect
import math
import re

import pytest

from penstock.model import errors
from penstock.model.errors import (
    InvalidArguments,
    InvalidOption,
    PenstockError,
    Problem,
    RateLimited,
    ResultTimeout,
    Snooze,
    in_seconds,
)

CLASSES = {
    name: kind
    for name, kind in vars(errors).items()
    if inspect.isclass(kind) and issubclass(kind, PenstockError)
}


def drawn() -> dict[str, str]:
    """Name -> parent, read from the drawing."""
    parents: dict[str, str] = {}
    line: list[str] = []
    for text in errors.__doc__.splitlines():
        if found := re.match(r"([│├└─ ]*)([A-Z]\w+)", text):
            depth = len(found[1]) // 4
            line[depth:] = [found[2]]
            if depth:
                parents[found[2]] = line[depth - 1]
    return parents


def test_the_drawn_tree_is_the_tree():
    assert drawn() == {
        name: kind.__bases__[0].__name__ for name, kind in CLASSES.items() if name != "PenstockError"
    }


def test_every_error_says_what_it_means():
    assert not [name for name, kind in CLASSES.items() if not kind.__doc__]


@pytest.mark.parametrize(
    ("name", "builtin"),
    [
        ("InvalidOption", ValueError),
        ("UnknownQueue", LookupError),
        ("UnknownTask", LookupError),
        ("InvalidArguments", TypeError),
        ("InvalidValue", ValueError),
        ("CalledInLoop", RuntimeError),
        ("MissingExtra", ImportError),
        ("JobNotFound", LookupError),
        ("ResultTimeout", TimeoutError),
    ],
)
def test_errors_are_also_what_python_would_raise(name, builtin):
    assert issubclass(CLASSES[name], builtin)


def test_invalid_arguments_names_every_problem_at_once():
    error = InvalidArguments("send", [Problem("to", "is missing"), Problem("n", "is not an int")])
    assert error.task == "send"
    assert len(error.problems) == 2
    assert str(error).splitlines()[1:] == ["  to: is missing", "  n: is not an int"]


def test_signals_carry_their_seconds_and_a_sentence():
    assert (Snooze(30).seconds, str(Snooze(30))) == (30.0, "snoozed for 30 s")
    assert str(Snooze(30, "not yet")) == "not yet"
    assert (RateLimited(5).retry_after, str(RateLimited(5))) == (5.0, "rate limited, retry after 5 s")
    assert str(RateLimited(5, "slow down")) == "slow down"
    assert RateLimited.code == "RATE_LIMITED"
    assert isinstance(ResultTimeout(), TimeoutError)


@pytest.mark.parametrize("wrong", [-1, math.nan, math.inf, -math.inf])
def test_durations_no_clock_can_honour_are_refused(wrong):
    for make in (Snooze, RateLimited, lambda s: in_seconds("x", s)):
        with pytest.raises(InvalidOption, match="from 0 up"):
            make(wrong)


def test_durations_from_zero_up_are_floats():
    assert in_seconds("x", 0) == 0.0
    assert isinstance(in_seconds("x", 3), float)
