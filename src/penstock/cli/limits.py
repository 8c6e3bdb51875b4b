"""Limits and breakers: what holds jobs back, and letting them go."""

from __future__ import annotations

from typing import Annotated

import typer
from rich.text import Text

from penstock.cli.common import AppOption, JsonOption, LimitOption, WhyOption, command, with_ops
from penstock.cli.output import ago, print_json, print_table, say
from penstock.engine import GroupState, LaneState
from penstock.model.breaker import BreakerState, Circuit
from penstock.model.lanes import key_of
from penstock.model.limits import in_words

breakers = typer.Typer(no_args_is_help=False)
HELP = "List, close and open circuit breakers."

STYLE = {Circuit.CLOSED: "green", Circuit.HALF_OPEN: "yellow", Circuit.OPEN: "red"}


def register(app: typer.Typer) -> None:
    app.command(rich_help_panel="Look")(limits)
    app.add_typer(breakers, name="breakers", help=HELP, rich_help_panel="Act")


def limits(
    group: Annotated[str | None, typer.Argument(help="Show the keys of this one")] = None,
    app: AppOption = None,
    limit: LimitOption = 50,
    after: Annotated[str | None, typer.Option(help="The last lane of the page before")] = None,
    as_json: JsonOption = False,
) -> None:
    """List what limits queues and tasks, or the keys under one limit."""
    if group is not None:
        _lanes(group, app, limit, after, as_json=as_json)
        return
    found = with_ops(app, lambda ops: ops.groups())
    if as_json:
        print_json([_group_json(state) for state in found])
        return
    print_table(
        ("of", "limit", "per key", "needs", "active", ""),
        [_group_row(state) for state in found],
        "No limits are declared. Give a queue or a task rate=, concurrency= or needs=, and start a worker.",
    )


def _lanes(group: str, app: str | None, limit: int, after: str | None, *, as_json: bool) -> None:
    found = with_ops(app, lambda ops: ops.lanes(group, limit, after))
    if as_json:
        print_json([{"key": key_of(state.lane), **state._asdict()} for state in found])
        return
    print_table(
        ("key", "waiting", "active", "opens", "lane"),
        [_lane_row(state) for state in found],
        f"Nothing waits or runs under {group}. What there is: {command('limits', app)}",
        spare=("lane",),
    )
    if len(found) == limit:
        say(f"There may be more: add --after '{found[-1].lane}'", "bright_black")


@breakers.callback(invoke_without_command=True)
def list_breakers(context: typer.Context, app: AppOption = None, as_json: JsonOption = False) -> None:
    """List the circuit breakers."""
    if context.invoked_subcommand is not None:
        return
    found = with_ops(app, lambda ops: ops.breakers())
    if as_json:
        print_json([_breaker_json(state) for state in found])
        return
    print_table(
        ("breaker", "state", "since", "failures", "probes", "tried again"),
        [_breaker_row(state) for state in found],
        "No breakers are known. Declare one with app.breaker(NAME), and start a worker.",
    )


@breakers.command("close")
def close(name: str, app: AppOption = None, why: WhyOption = None, as_json: JsonOption = False) -> None:
    """Close a breaker: the service is well, let its jobs go."""
    with_ops(app, lambda ops: ops.set_breaker(name, Circuit.CLOSED), why)
    if as_json:
        print_json({"breaker": name, "state": Circuit.CLOSED.value})
        return
    say(f"Breaker {name} is closed.")


@breakers.command("open")
def open_(name: str, app: AppOption = None, why: WhyOption = None, as_json: JsonOption = False) -> None:
    """Open a breaker: hold the jobs that need it until it is tried again."""
    with_ops(app, lambda ops: ops.set_breaker(name, Circuit.OPEN), why)
    if as_json:
        print_json({"breaker": name, "state": Circuit.OPEN.value})
        return
    say(f"Breaker {name} is open. Close it with: {command(f'breakers close {name}', app)}")


def _group_row(state: GroupState) -> tuple[str | Text, ...]:
    cooling = "" if state.cooled_for is None else f"cooling down for {state.cooled_for:.0f} s"
    group = state.group
    return (
        group.name,
        in_words(group.limit),
        in_words(group.per_key),
        ", ".join(group.needs),
        Text(f"{state.active:,}", justify="right"),
        Text(cooling, style="yellow"),
    )


def _group_json(state: GroupState) -> dict[str, object]:
    group = state.group
    return {
        "of": group.name,
        "limit": group.limit._asdict(),
        "per_key": group.per_key._asdict(),
        "needs": list(group.needs),
        "active": state.active,
        "cooled_for": state.cooled_for,
    }


def _lane_row(state: LaneState) -> tuple[str | Text, ...]:
    opens = "" if state.opens_in is None else f"in {state.opens_in:.1f} s"
    counted = [Text(f"{n:,}", justify="right") for n in (state.waiting, state.active)]
    return (key_of(state.lane) or "", *counted, opens, state.lane)


def _breaker_row(state: BreakerState) -> tuple[str | Text, ...]:
    breaker = state.breaker
    by_share = breaker.failure_rate is not None
    failures = f"{state.failures}/{state.runs if by_share else breaker.threshold}"
    return (
        breaker.name,
        Text(state.circuit.value, style=STYLE[state.circuit]),
        ago(state.since) if state.since else "",
        failures,
        f"{state.probing}/{breaker.probes}",
        "" if state.retry_in is None else f"in {state.retry_in:.0f} s",
    )


def _breaker_json(state: BreakerState) -> dict[str, object]:
    return {
        "breaker": state.breaker.name,
        "state": state.circuit.value,
        "since": state.since,
        "failures": state.failures,
        "runs": state.runs,
        "probing": state.probing,
        "retry_in": state.retry_in,
        "threshold": state.breaker.threshold,
        "reset": state.breaker.reset,
        "probes": state.breaker.probes,
        "failure_rate": state.breaker.failure_rate,
    }
