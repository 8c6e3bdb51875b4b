"""Conditions and messages: what they mean, and that nothing in them is ever run."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock import InvalidOption
from penstock.alerts.conditions import parse_condition, parse_duration
from penstock.alerts.names import NAMES, Scope, scope_of
from penstock.alerts.templates import MAX_MESSAGE, fill, names_in

VALUES = {"queue": "email", "waiting": 1000.0, "active": 3.0, "error_rate": 0.051, "expected_workers": None}


@pytest.mark.parametrize(
    ("text", "so"),
    [
        ("waiting > 1000", False),
        ("waiting >= 1000", True),
        ("error_rate > 0.05", True),
        ("waiting > 10 and not active > 5", True),
        ("waiting / active > 300 or active == 0", True),
        ("-waiting < -999", True),
        ("1 < active < 4", True),
        ("queue == 'email' and waiting > 1", True),
        ("queue != 'email' and waiting > 1", False),
    ],
)
def test_a_condition_compares_what_is_measured(text: str, so: bool) -> None:
    assert parse_condition(text).holds(VALUES) is so


@pytest.mark.parametrize("text", ["active < expected_workers", "oldest_age > 1", "waiting / delayed > 1"])
def test_what_is_not_known_is_not_so(text: str) -> None:
    assert not parse_condition(text).holds({**VALUES, "delayed": 0.0} if "delayed" in text else VALUES)


def test_a_condition_may_have_to_be_so_for_some_time() -> None:
    condition = parse_condition("stalled_count > 0 for 5m")
    assert (condition.hold, condition.names) == (300.0, {"stalled_count"})
    assert [parse_duration(text) for text in ("30s", "2h", "7d", 0)] == [30, 7_200, 604_800, 0]


@pytest.mark.parametrize(
    "attack",
    [
        "__import__('os').system('id') > 0",
        "().__class__.__mro__[1].__subclasses__() == 1",
        "waiting.__class__ == 1",
        "(lambda: waiting)() > 1",
        "[waiting for waiting in (1,)] == 1",
        "waiting if active else 3",
        "(waiting := 3) > 1",
        "f'{waiting}' == '1'",
        "waiting in (1, 2)",
        "waiting is 3",
        "waiting ** waiting ** waiting > 1",
        "9 ** 999999 > waiting",
        "waiting << 99 > 1",
        "'a' * waiting == 'b'",
        "waiting > 1e400",
        "waiting > " + "9" * 400,
        "waiting > 1j",
        "waiting > True",
        "waiting > None",
        "waiting > 'x'",
        "queue > 'x'",
        "queue + queue == 'x'",
        "waiting",
        "1 > 0",
        "waiting > 0; import os",
        "waiting > 0\nimport os",
        "eval > 1",
        "secret > 1",
        "(" * 240 + "waiting" + ")" * 240 + " > 1",
        "not " * 120 + "waiting > 1",
        "-" * 480 + "1 > waiting",
        "waiting > 1 for ever",
        "waiting > 1 for 5",
        "\x00 > waiting",
        "",
        None,
        3,
    ],
)
def test_an_attack_on_a_condition_is_refused(attack: object) -> None:
    began = time.monotonic()
    with pytest.raises(InvalidOption):
        parse_condition(attack)
    assert time.monotonic() - began < 0.5


@given(st.text(alphabet="waiting()<>=+-*/.,'\" 0123456789[]{}andornt:_", max_size=60))
def test_whatever_is_written_is_a_condition_or_refused(text: str) -> None:
    try:
        condition = parse_condition(text)
    except InvalidOption:
        return
    assert condition.holds(VALUES) in (True, False)


def test_a_rule_looks_at_what_has_all_its_names() -> None:
    assert scope_of({"dlq_size"}) is Scope.SYSTEM
    assert scope_of({"waiting", "dlq_size"}) is Scope.QUEUE
    assert scope_of({"queue", "job_name"}) is Scope.TASK
    assert scope_of({"job_name", "timeout", "waiting"}) is Scope.JOB
    with pytest.raises(InvalidOption, match="at once"):
        scope_of({"schedule", "job_id"})
    assert all(scope_of({name}) is known.scope for name, known in NAMES.items())


# -- messages -----------------------------------------------------------------------------------------
def test_an_error_rate_is_printed_as_a_percentage() -> None:
    assert fill("Queue {{queue}} error rate: {{error_rate}}%", VALUES) == "Queue email error rate: 5.1%"
    assert fill("{{ waiting }} of {{active}}; {{expected_workers}}", VALUES) == "1000 of 3; ?"


@pytest.mark.parametrize(
    "attack",
    [
        "{job.__class__.__init__.__globals__}",
        "{{7*7}}",
        "{{queue.__class__}}",
        "{{queue|upper}}",
        "{% for x in y %}",
        "%n %s %(queue)s",
        "${x} $queue",
        "{queue}",
        "{0}",
        "{{ }}",
        "{{}}",
    ],
)
def test_an_attack_on_a_message_stands_in_it_as_it_is(attack: str) -> None:
    assert fill(attack, VALUES) == attack
    assert names_in(attack) == frozenset()


def test_a_value_is_put_in_once_and_is_text() -> None:
    assert fill("{{queue}}", {"queue": "{{waiting}}"}) == "{{waiting}}"
    assert fill("{{{{queue}}}}", {"queue": "waiting"}) == "{{waiting}}"
    assert fill("{{queue}}", {"queue": "a\r\nb\x1b[31m\u202ec"}) == "a  b [31m c"
    assert len(fill("{{queue}}" * 9, {"queue": "x" * 10_000})) == MAX_MESSAGE
