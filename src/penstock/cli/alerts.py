"""Alerts: what fires, what has fired, what would have fired; and whether a channel can be reached."""

from __future__ import annotations

import asyncio
import dataclasses
from typing import Annotated, Any

import typer
from rich.text import Text

from penstock.alerts import couriers
from penstock.alerts.backtest import Episode, Tried
from penstock.alerts.config import Alerting
from penstock.alerts.examining import trial
from penstock.alerts.life import Phase, Standing
from penstock.alerts.rules import BY_FAILURE, Rule, Severity
from penstock.cli import common
from penstock.cli.common import AppOption, JsonOption, LimitOption, command, load, with_ops
from penstock.cli.output import ago, counted, print_json, print_table, say
from penstock.model.errors import ActionRefused, InvalidOption

app = typer.Typer(no_args_is_help=False)
HELP = "List alerts, try their rules on the past, send a test message."

STYLE = {Severity.WARNING: "yellow", Severity.ERROR: "red", Severity.CRITICAL: "bold red"}


@app.callback(invoke_without_command=True)
@app.command("list")
def list_(context: typer.Context, app_ref: AppOption = None, as_json: JsonOption = False) -> None:
    """List the alerts that fire, or soon will."""
    if context.invoked_subcommand is not None:
        return
    found = with_ops(app_ref, lambda ops: ops.alerts.standing())
    if as_json:
        print_json(found)
        return
    print_table(
        ("severity", "state", "since", "rule", "told", "message"),
        [_row(alert) for alert in found],
        f"No alerts. What has been: {command('alerts history', app_ref)}",
        spare=("told",),
    )


def _row(alert: Standing) -> tuple[str | Text, ...]:
    told = ", ".join(alert.told) or "nobody"
    since = ago(alert.resolved_at if alert.phase is Phase.RESOLVED else alert.fired_at or alert.since)
    return _severity(alert.severity), alert.phase, since, alert.rule, told, alert.message


def _severity(severity: Severity) -> Text:
    return Text(severity, style=STYLE[severity])


@app.command()
def history(app_ref: AppOption = None, limit: LimitOption = 50, as_json: JsonOption = False) -> None:
    """List what alerts have done: fired, become worse, ended. Newest first."""
    found = with_ops(app_ref, lambda ops: ops.alerts.history(limit))
    if as_json:
        print_json([entry._asdict() for entry in found])
        return
    print_table(
        ("when", "event", "severity", "rule", "message"),
        [
            (ago(entry.at), entry.event, _severity(entry.severity), entry.rule, entry.message)
            for entry in found
        ],
        f"Nothing in the last 30 days. The rules: {command('alerts rules', app_ref)}",
    )


@app.command()
def rules(app_ref: AppOption = None, as_json: JsonOption = False) -> None:
    """List the rules in force: built in, or from penstock.yaml."""
    alerting = _alerting(app_ref)
    if as_json:
        print_json([_rule_json(rule, alerting) for rule in alerting.rules])
        return
    print_table(
        ("rule", "severity", "condition", "told"),
        [
            (rule.name, rule.severity or BY_FAILURE, rule.condition.text, _told(rule, alerting))
            for rule in alerting.rules
        ],
        "Every rule is switched off.",
    )


def _told(rule: Rule, alerting: Alerting) -> str:
    return ", ".join(alerting.told(rule)) or "nobody"


def _rule_json(rule: Rule, alerting: Alerting) -> dict[str, Any]:
    return {
        "rule": rule.name,
        "condition": rule.condition.text,
        "severity": rule.severity or BY_FAILURE,
        "channels": alerting.told(rule),
        "message": rule.message,
        "scope": rule.scope,
    }


@app.command()
def channels(app_ref: AppOption = None, as_json: JsonOption = False) -> None:
    """List the channels, and how each was last reached."""
    alerting = _alerting(app_ref)
    states = {state.name: state for state in with_ops(app_ref, lambda ops: ops.alerts.channels())}
    if as_json:
        known = {name: channel.kind for name, channel in alerting.channels.items()}
        print_json(
            [
                {"channel": name, "kind": kind, **(states[name]._asdict() if name in states else {})}
                for name, kind in known.items()
            ]
        )
        return
    rows = []
    for name, channel in alerting.channels.items():
        state = states.get(name)
        rows.append((name, channel.kind, ago(state and state.told_at), (state and state.problem) or ""))
    print_table(
        ("channel", "kind", "last told", "problem"),
        rows,
        "No channels are declared: write them under `channels` in penstock.yaml.",
    )


@app.command("test")
def try_rules(
    app_ref: AppOption = None,
    since: Annotated[str | None, typer.Option(help="From so long ago on: 15m, 2h, 7d")] = None,
    rule: Annotated[list[str] | None, typer.Option("--rule", help="Only this one; may be repeated")] = None,
    as_json: JsonOption = False,
) -> None:
    """Try the rules on the last week, as the engine has recorded it."""
    alerting = _only(_alerting(app_ref), rule)
    begin = common.since(since)
    tried = with_ops(app_ref, lambda ops: ops.alerts.test(alerting, begin))
    if as_json:
        print_json(dataclasses.asdict(tried))
        return
    print_table(
        ("fired", "lasted", "severity", "rule", "message"),
        [_episode_row(episode) for episode in tried.episodes],
        "Nothing would have fired.",
    )
    _summary(tried)


def _only(alerting: Alerting, names: list[str] | None) -> Alerting:
    if not names:
        return alerting
    known = {rule.name: rule for rule in alerting.rules}
    for name in names:
        if name not in known:
            raise InvalidOption(f"there is no rule {name!r}; there are: {', '.join(known)}")
    return dataclasses.replace(alerting, rules=tuple(known[name] for name in names))


def _episode_row(episode: Episode) -> tuple[str | Text, ...]:
    lasted = "still fires"
    if episode.resolved_at is not None:
        lasted = f"{(episode.resolved_at - episode.fired_at).total_seconds() / 60:.0f}m"
    fired = f"{episode.fired_at:%Y-%m-%d %H:%M}"
    return fired, lasted, _severity(episode.severity), episode.rule, episode.message


def _summary(tried: Tried) -> None:
    fired = counted(len(tried.episodes), "alert")
    minutes = counted(tried.minutes, "recorded minute")
    say(f"{fired} in {minutes} since {tried.since:%Y-%m-%d %H:%M} UTC.", "bright_black")
    for name, missing in tried.not_tried.items():
        say(f"Not tried: {name}, since {', '.join(missing)} is not recorded.", "bright_black")


@app.command()
def send(channel: str, app_ref: AppOption = None, as_json: JsonOption = False) -> None:
    """Send a test message to a channel."""
    alerting = _alerting(app_ref)
    if channel not in alerting.channels:
        known = ", ".join(alerting.channels) or "none"
        raise InvalidOption(f"there is no channel {channel!r} in penstock.yaml; there are: {known}")
    problem = asyncio.run(couriers.send(alerting.channels[channel], trial()))
    if as_json:
        print_json({"channel": channel, "sent": problem is None, "problem": problem})
    if problem is not None:
        raise ActionRefused(f"channel {channel!r} was not told: {problem}")
    if not as_json:
        say(f"Channel {channel} was told.")


def _alerting(ref: str | None) -> Alerting:
    found = load(ref).alerting
    if found is None:
        raise InvalidOption("alerts are switched off: PENSTOCK_ALERTS is `off`")
    return found
