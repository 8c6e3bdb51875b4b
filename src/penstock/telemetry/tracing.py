"""Traces across the queue: the context of whoever enqueues travels with the job, and its run continues it.

By OpenTelemetry's API, where the program has set it up: else nothing is imported and nothing is done.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from penstock.model.errors import NoOp, Snooze
from penstock.model.failure import message_of, type_of
from penstock.model.job import Claim, NewJob
from penstock.model.redaction import Clean
from penstock.model.values import MAX_ARGS_BYTES, dumps, readable

if TYPE_CHECKING:
    from opentelemetry.context import Context
    from opentelemetry.trace import Tracer, TracerProvider

CARRIED = ("traceparent", "tracestate")  # among the options of a job, by W3C Trace Context
MAX_STATE = 512  # characters; a longer one need not be passed on


def is_on() -> bool:
    """Whether the program has loaded OpenTelemetry, and told it where traces go.

    Having loaded it says nothing: web frameworks do.
    """
    loaded = sys.modules.get("opentelemetry.trace")
    return loaded is not None and is_set_up(loaded.get_tracer_provider())


def is_set_up(provider: object) -> bool:
    """Whether this is a provider that somebody has set: the API's own ones do nothing."""
    return not type(provider).__module__.startswith(("opentelemetry.trace", "opentelemetry.metrics"))


def enqueueing(jobs: list[NewJob]) -> AbstractContextManager[list[NewJob]]:
    """While jobs are put in: a span, and the jobs with its context."""
    return _enqueueing(jobs) if jobs and is_on() else nullcontext(jobs)


@contextmanager
def _enqueueing(jobs: list[NewJob]) -> Iterator[list[NewJob]]:
    from opentelemetry.trace import SpanKind  # noqa: PLC0415 - it is loaded already

    first = jobs[0]
    told = _told(first.queue, first.task, "send")
    told |= {"messaging.message.id": first.id} if len(jobs) == 1 else {_COUNT: len(jobs)}
    with _tracer().start_as_current_span(
        f"enqueue {first.task}", kind=SpanKind.PRODUCER, attributes=told, record_exception=False
    ):
        yield carried(jobs)


def carried(jobs: Sequence[NewJob]) -> list[NewJob]:
    """The jobs with the context in which they are made, where there is one."""
    context = _current() if is_on() else {}
    return [_with(job, context) for job in jobs] if context else list(jobs)


@contextmanager
def running(claim: Claim, cleaner: Callable[[str], Clean]) -> Iterator[None]:
    """While a handler runs: a span that continues the trace of whoever enqueued its job.

    What it tells of an error is cleaned by what `cleaner` makes of the payload.
    """
    from opentelemetry.trace import SpanKind  # noqa: PLC0415 - as above

    told = _told(claim.queue, claim.task, "process")
    told |= {"messaging.message.id": claim.id, "penstock.attempt": claim.attempt}
    with _tracer().start_as_current_span(
        f"run {claim.task}",
        context=_context_of(claim),
        kind=SpanKind.CONSUMER,
        attributes=told,
        record_exception=False,
        set_status_on_exception=False,
    ) as span:
        try:
            yield
        except (NoOp, Snooze):
            raise
        except BaseException as error:
            _record(span, error, cleaner(claim.args))
            raise


_COUNT = "messaging.batch.message_count"


def _told(queue: str, task: str, operation: str) -> dict[str, Any]:
    return {
        "messaging.system": "penstock",
        "messaging.destination.name": queue,
        "messaging.operation.type": operation,
        "penstock.task": task,
    }


def _tracer() -> Tracer:
    from opentelemetry import trace  # noqa: PLC0415 - as above

    return _tracer_of(trace.get_tracer_provider())


@lru_cache(maxsize=4)
def _tracer_of(provider: TracerProvider) -> Tracer:
    return provider.get_tracer("penstock")


def _current() -> dict[str, str]:
    from opentelemetry.trace.propagation.tracecontext import (  # noqa: PLC0415 - as above
        TraceContextTextMapPropagator,
    )

    carrier: dict[str, str] = {}
    TraceContextTextMapPropagator().inject(carrier)
    return {name: value for name, value in carrier.items() if name in CARRIED and len(value) <= MAX_STATE}


def _with(job: NewJob, context: dict[str, str]) -> NewJob:
    options = readable(job.options) or {}
    return job._replace(options=dumps({**options, **context}, MAX_ARGS_BYTES, "options"))


def _context_of(claim: Claim) -> Context | None:
    """The context that came with the job; None: there is none, and its run begins a trace."""
    from opentelemetry.trace.propagation.tracecontext import (  # noqa: PLC0415 - as above
        TraceContextTextMapPropagator,
    )

    options = readable(claim.options)
    if not isinstance(options, dict):
        return None
    carrier = {name: value for name in CARRIED if isinstance(value := options.get(name), str)}
    return TraceContextTextMapPropagator().extract(carrier)


def _record(span: Any, error: BaseException, clean: Clean) -> None:
    from opentelemetry.trace import Status, StatusCode  # noqa: PLC0415 - as above

    told = {"exception.type": type_of(error), "exception.message": message_of(error, clean)}
    span.add_event("exception", told)
    span.set_status(Status(StatusCode.ERROR, type_of(error)))
