"""`penstock metrics`: how the queues do, and how they did."""

from __future__ import annotations

from typing import Annotated, cast, get_args

import typer

from penstock.cli.common import AppOption, JsonOption, QueueOption, with_ops
from penstock.cli.output import counted, print_json, print_table, say
from penstock.model.errors import InvalidOption
from penstock.telemetry.metrics import SPANS, WINDOW, Counted, Point, Snapshot, Span

COLUMNS = ("per min", "errors", "run p50", "p95", "p99", "wait p95", "retries", "dead")


def register(app: typer.Typer) -> None:
    app.command(rich_help_panel="Look")(metrics)


def metrics(
    app: AppOption = None,
    queue: QueueOption = None,
    tasks: Annotated[bool, typer.Option("--tasks", help="Task by task, not queue by queue")] = False,
    last: Annotated[str | None, typer.Option(help="hour, day or week, in place of the last minute")] = None,
    series: Annotated[bool, typer.Option("--series", help="With --last: step by step")] = False,
    as_json: JsonOption = False,
) -> None:
    """What waits, how much was done, how fast, how much failed."""
    span = _span(last)
    if series:
        points = with_ops(app, lambda ops: ops.metrics.series(span or "hour", queue))
        print_json(points) if as_json else _show_series(points)
        return
    window = WINDOW if span is None else SPANS[span][0]
    found = with_ops(app, lambda ops: ops.metrics.snapshot(window, queue))
    if as_json:
        print_json(found)
    else:
        _show(found, tasks=tasks)


def _span(last: str | None) -> Span | None:
    if last is not None and last not in get_args(Span):
        raise InvalidOption(f"--last takes hour, day or week, not {last!r}")
    return cast("Span | None", last)


def _show(found: Snapshot, *, tasks: bool) -> None:
    if tasks:
        rows = [[each.queue, each.task, *_counted(each)] for each in found.tasks]
        print_table(["queue", "task", *COLUMNS], rows, "Nothing was counted in that time.")
    else:
        queues = [
            [each.queue, f"{each.waiting:,}", f"{each.active:,}", f"{each.delayed:,}", *_counted(each)]
            for each in found.queues
        ]
        print_table(["queue", "waiting", "active", "delayed", *COLUMNS], queues, "There are no queues.")
    say(_beside(found), "bright_black")


def _show_series(points: list[Point]) -> None:
    rows = [[f"{point.at:%Y-%m-%d %H:%M}", *_counted(point)] for point in points]
    print_table(["from (UTC)", *COLUMNS], rows, "Nothing was counted.")


def _counted(found: Counted) -> list[str]:
    return [
        f"{found.throughput_per_minute:,.0f}",
        f"{found.error_rate:.1%}",
        _ms(found.p50_processing_time_ms),
        _ms(found.p95_processing_time_ms),
        _ms(found.p99_processing_time_ms),
        _ms(found.p95_wait_time_ms),
        f"{found.retries:,.0f}",
        f"{found.dead_letters:,.0f}",
    ]


def _ms(milliseconds: float) -> str:
    if milliseconds < 1_000:
        return f"{milliseconds:.0f} ms"
    return f"{milliseconds / 1_000:.1f} s"


def _beside(found: Snapshot) -> str:
    parts = [counted(found.worker_count, "worker"), counted(found.dlq_size, "dead letter")]
    if found.relay_lag_s is not None:
        parts.append(f"outbox {found.relay_lag_s:.0f} s behind")
    if found.schedule_lateness_s >= 1:
        parts.append(f"schedules {found.schedule_lateness_s:.0f} s late")
    return f"over the last {found.window_s:g} s; {', '.join(parts)}"
