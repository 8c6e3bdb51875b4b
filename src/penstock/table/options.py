"""What `app.table` takes besides the name of the table, and what holds where it is not given."""

from __future__ import annotations

from typing import Any, TypedDict

from penstock.model.errors import Duration, InvalidOption
from penstock.model.failure import Classifier
from penstock.tasks.inherit import RetryOption


class TableOptions(TypedDict, total=False):
    """See `app.table`."""

    output: str | None
    source_column: str | None
    batch: int
    concurrency: int | None
    poll: Duration
    stuck_after: Duration
    max_stuck: int
    retry: RetryOption | None
    classify: Classifier | None
    order_by: str
    id_column: str
    status_column: str
    started_column: str
    completed_column: str
    error_column: str
    attempts_column: str
    stuck_column: str
    retry_column: str
    token_column: str
    queued: str
    started: str
    completed: str
    failed: str
    wake: bool
    url: str | None
    schema: str | None
    name: str | None


DEFAULTS = TableOptions(
    output=None,
    source_column=None,
    batch=10,
    concurrency=None,
    poll=5.0,
    stuck_after=600.0,
    max_stuck=3,
    retry=None,
    classify=None,
    order_by="created_at",
    id_column="id",
    status_column="status",
    started_column="started_at",
    completed_column="completed_at",
    error_column="error",
    attempts_column="attempts",
    stuck_column="stuck",
    retry_column="retry_at",
    token_column="claim",  # noqa: S106
    queued="queued",
    started="started",
    completed="completed",
    failed="failed",
    wake=False,
    url=None,
    schema=None,
    name=None,
)


def completed(options: TableOptions) -> dict[str, Any]:
    """What was given, and what holds for the rest; InvalidOption for what there is not."""
    if unknown := options.keys() - TableOptions.__annotations__.keys():
        raise InvalidOption(f"app.table has no option {min(unknown)!r}")
    return {**DEFAULTS, **options}
