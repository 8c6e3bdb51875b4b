"""What lies behind an error is kept with it: a bounded chain, cleaned, without the values of variables."""

import json

from penstock.model.causes import MAX_CAUSE_MESSAGE, MAX_CAUSE_TRACEBACK, MAX_CAUSES, causes_of
from penstock.model.decide import Facts, decide, end_of
from penstock.model.retry import Retry


def told(error: BaseException) -> list[tuple[str, str, str]]:
    return [(c["how"], c["type"], c["message"]) for c in causes_of(error)]


def raised(make) -> BaseException:
    try:
        make()
    except BaseException as error:
        return error
    raise AssertionError


def test_an_error_by_itself_has_nothing_behind_it():
    assert causes_of(ValueError("alone")) == ()


def test_what_it_was_raised_from_and_what_was_being_handled_are_told_apart():
    def fail() -> None:
        try:
            try:
                raise KeyError("first")
            except KeyError:
                raise ValueError("second")  # noqa: B904
        except ValueError as error:
            raise RuntimeError("third") from error

    error = raised(fail)
    assert told(error) == [("cause", "ValueError", "second"), ("context", "KeyError", "'first'")]
    assert "in fail" in causes_of(error)[0]["traceback"]


def test_what_was_suppressed_stays_so():
    def fail() -> None:
        try:
            raise KeyError("first")
        except KeyError:
            raise RuntimeError("second") from None

    assert told(raised(fail)) == []


def test_the_members_of_a_group_are_kept_with_what_lies_behind_them():
    member = ValueError("one")
    member.__cause__ = KeyError("below")
    group = ExceptionGroup("both", [member, ExceptionGroup("inner", [TypeError("two")])])
    assert told(group) == [
        ("member", "ValueError", "one"),
        ("member", "ExceptionGroup", "inner (1 sub-exception)"),
        ("cause", "KeyError", "'below'"),
        ("member", "TypeError", "two"),
    ]


def test_the_chain_is_bounded_and_never_goes_in_circles():
    many = ExceptionGroup("many", [ValueError(str(n)) for n in range(1_000)])
    assert len(causes_of(many)) == MAX_CAUSES
    one, two = ValueError("one"), ValueError("two")
    one.__cause__, two.__cause__ = two, one
    assert told(one) == [("cause", "ValueError", "two")]


def test_each_is_cleaned_and_cut():
    error = ValueError("outer")
    error.__cause__ = KeyError("\x00\ud800" + "x" * 10_000)
    [cause] = causes_of(error)
    assert "\x00" not in cause["message"]
    cause["message"].encode()
    assert len(cause["message"]) <= MAX_CAUSE_MESSAGE + 20
    assert len(cause["traceback"]) <= MAX_CAUSE_TRACEBACK + 20


def test_the_error_record_keeps_them():
    error = ValueError("outer")
    error.__cause__ = KeyError("inner")
    run = Facts(attempt=1, max_attempts=3, crashes=0, ran_for=1.0, worker="w", chance=0.5)
    record = json.loads(decide(run, end_of(error, Retry()), Retry()).error)
    assert [cause["message"] for cause in record["causes"]] == ["'inner'"]
