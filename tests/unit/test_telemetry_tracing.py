"""A trace goes on from whoever enqueues a job to its handler, whichever way the job takes."""

from __future__ import annotations

import json
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import opentelemetry.metrics._internal as metrics_internal
import pytest
from opentelemetry import trace
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import SpanKind, StatusCode
from runtime_kit import make_app, make_worker

from penstock import Context, Penstock, Retry, Snooze
from penstock.model.job import NewJob
from penstock.model.redaction import redacted
from penstock.tasks.overrides import read
from penstock.telemetry import tracing


class Traces:
    """The spans that were ended, and a tracer for the test's own."""

    def __init__(self) -> None:
        self.exporter = InMemorySpanExporter()
        self.provider = TracerProvider()
        self.provider.add_span_processor(SimpleSpanProcessor(self.exporter))
        self.tracer = self.provider.get_tracer("test")

    def spans(self) -> dict[str, ReadableSpan]:
        return {span.name: span for span in self.exporter.get_finished_spans()}


@pytest.fixture
def traces(monkeypatch: pytest.MonkeyPatch) -> Iterator[Traces]:
    made = Traces()
    monkeypatch.setattr(trace, "_TRACER_PROVIDER", made.provider)
    yield made
    made.provider.shutdown()


def trace_id(span: ReadableSpan) -> int:
    assert span.context is not None
    return span.context.trace_id


def span_id(span: ReadableSpan) -> int:
    assert span.context is not None
    return span.context.span_id


def parent_of(span: ReadableSpan) -> int | None:
    return None if span.parent is None else span.parent.span_id


async def work(app: Penstock) -> None:
    worker = make_worker(app)
    await app.engine.register(worker.info(), 60.0)
    await worker.run(burst=True)


@pytest.fixture
def app() -> Penstock:
    made = make_app()
    made.seen = []  # type: ignore[attr-defined]

    @made.task
    async def on_loop() -> None:
        made.seen.append(trace.get_current_span().get_span_context())  # type: ignore[attr-defined]

    @made.task
    def in_thread() -> None:
        made.seen.append(trace.get_current_span().get_span_context())  # type: ignore[attr-defined]

    @made.task(retry=Retry.none())
    async def breaks() -> None:
        raise ValueError("no such order")

    @made.task(retry=Retry.none(), secret=("pin",))
    async def charges(pin: str) -> None:
        raise ValueError(f"no card has the pin {pin}")

    @made.task
    async def later() -> None:
        raise Snooze(60)

    @made.task
    async def first(ctx: Context) -> None:
        ctx.enqueue(made.tasks["on_loop"].call())

    return made


@pytest.mark.parametrize("name", ["on_loop", "in_thread"])
async def test_the_span_of_a_run_continues_the_trace_of_whoever_enqueued(
    app: Penstock, traces: Traces, name: str
) -> None:
    async with app:
        with traces.tracer.start_as_current_span("request"):
            job = await app.tasks[name].aenqueue()
        await work(app)
    spans = traces.spans()
    request, enqueue, run = spans["request"], spans[f"enqueue {name}"], spans[f"run {name}"]
    assert trace_id(request) == trace_id(enqueue) == trace_id(run)
    assert (parent_of(enqueue), parent_of(run)) == (span_id(request), span_id(enqueue))
    assert (enqueue.kind, run.kind) == (SpanKind.PRODUCER, SpanKind.CONSUMER)
    assert dict(run.attributes or {}) == {
        "messaging.system": "penstock",
        "messaging.destination.name": "default",
        "messaging.operation.type": "process",
        "messaging.message.id": job.id,
        "penstock.task": name,
        "penstock.attempt": 1,
    }
    assert [seen.span_id for seen in app.seen] == [span_id(run)]  # type: ignore[attr-defined]


async def test_a_batch_is_one_span_and_every_job_continues_it(app: Penstock, traces: Traces) -> None:
    async with app:
        await app.aenqueue_many([app.tasks["on_loop"].call() for _ in range(3)])
        await work(app)
    runs = [span for span in traces.exporter.get_finished_spans() if span.name == "run on_loop"]
    enqueue = traces.spans()["enqueue on_loop"]
    assert [parent_of(run) for run in runs] == [span_id(enqueue)] * 3
    assert (enqueue.attributes or {})["messaging.batch.message_count"] == 3


def test_enqueued_without_a_loop_it_carries_the_context_too(traces: Traces, tmp_path: Path) -> None:
    app = Penstock(f"sqlite:///{tmp_path / 'jobs.db'}")

    @app.task
    def hello() -> None: ...

    with app:
        job = hello.enqueue()
        stored = app.run_on_engine(lambda engine: engine.get(job.id), "aget")
    assert stored is not None
    assert carried_by(stored.options_json) == context_of(traces.spans()["enqueue hello"])


@pytest.mark.parametrize("outbox", [False, True])
async def test_it_is_carried_through_the_callers_transaction_and_the_outbox(
    traces: Traces, tmp_path: Path, outbox: bool
) -> None:
    url = f"sqlite:///{tmp_path / 'own.db'}"
    app = Penstock("sqlite:///" + str(tmp_path / "jobs.db"), outbox=url) if outbox else Penstock(url)

    @app.task
    async def hello() -> None: ...

    if outbox:
        await app.outbox.apply()
    async with app:
        with closing(sqlite3.connect(tmp_path / "own.db")) as connection, connection:
            job = hello.using(connection=connection).enqueue()
        if outbox:
            await app.relay().run(burst=True)
        stored = await app.ops.job(job.id)
    assert carried_by(stored.options_json) == context_of(traces.spans()["enqueue hello"])


async def test_a_job_that_follows_continues_the_run_it_follows(app: Penstock, traces: Traces) -> None:
    async with app:
        await app.tasks["first"].aenqueue()
        await work(app)
    spans = traces.spans()
    assert parent_of(spans["run on_loop"]) == span_id(spans["run first"])


async def test_a_failed_run_is_an_error_and_one_that_asks_to_run_later_is_none(
    app: Penstock, traces: Traces
) -> None:
    async with app:
        await app.aenqueue_many([app.tasks["breaks"].call(), app.tasks["later"].call()])
        await work(app)
    spans = traces.spans()
    assert spans["run breaks"].status.status_code is StatusCode.ERROR
    assert [dict(event.attributes or {}) for event in spans["run breaks"].events] == [
        {"exception.type": "ValueError", "exception.message": "no such order"}
    ]
    assert spans["run later"].status.status_code is StatusCode.UNSET


async def test_what_a_span_tells_of_an_error_holds_no_secret_of_the_job(
    app: Penstock, traces: Traces
) -> None:
    async with app:
        await app.tasks["charges"].aenqueue(pin="CANARY-4711")
        await work(app)
    (event,) = traces.spans()["run charges"].events
    assert (event.attributes or {})["exception.message"] == "no card has the pin •••"


async def test_other_options_of_the_call_stay(app: Penstock, traces: Traces) -> None:
    async with app:
        job = await app.tasks["on_loop"].using(timeout=7).aenqueue()
        stored = (await app.ops.job(job.id)).options_json
    assert stored is not None
    assert read(stored).timeout == 7
    assert "traceparent" in stored


def test_without_a_context_a_job_stays_as_it_is() -> None:
    job = NewJob("1", "q", "t")
    assert tracing.carried([job]) == [job]


@pytest.mark.parametrize("options", ['{"traceparent": 7}', '{"traceparent": "nonsense"}', "[]", "no json"])
async def test_a_context_that_cannot_be_read_begins_a_trace(traces: Traces, options: str) -> None:
    from test_runtime_child import CLAIM

    with tracing.running(CLAIM._replace(options=options), lambda _: redacted):
        pass
    assert parent_of(traces.spans()["run add"]) is None


def test_a_program_without_opentelemetry_does_not_load_it(tmp_path: Path) -> None:
    program = """
import sys
from penstock import Penstock
app = Penstock("sqlite:///jobs.db")
@app.task
def hello() -> None: ...
hello.enqueue()
assert not any(name.startswith(("opentelemetry", "prometheus_client")) for name in sys.modules)
"""
    subprocess.run([sys.executable, "-c", program], check=True, cwd=tmp_path)


def carried_by(options: str | None) -> str:
    assert options is not None
    found: Any = json.loads(options)["traceparent"]
    return str(found)


def context_of(span: ReadableSpan) -> str:
    assert span.context is not None
    return f"00-{trace_id(span):032x}-{span_id(span):016x}-{span.context.trace_flags:02x}"


# -- metrics ------------------------------------------------------------------------------------------
async def test_each_run_is_recorded_by_the_programs_own_meter(
    app: Penstock, monkeypatch: pytest.MonkeyPatch
) -> None:
    reader = InMemoryMetricReader()
    provider = MeterProvider([reader])
    monkeypatch.setattr(metrics_internal, "_METER_PROVIDER", provider)
    async with app:
        await app.aenqueue_many([app.tasks["on_loop"].call(), app.tasks["breaks"].call()])
        await work(app)
    data = reader.get_metrics_data()
    assert data is not None
    (scope,) = data.resource_metrics[0].scope_metrics
    found = {
        (metric.name, *sorted((point.attributes or {}).values())): point.count
        for metric in scope.metrics
        for point in metric.data.data_points
    }
    provider.shutdown()
    assert found == {
        ("penstock.job.run", "complete", "default", "on_loop"): 1,
        ("penstock.job.run", "breaks", "default", "fail"): 1,
        ("penstock.job.wait", "complete", "default", "on_loop"): 1,
        ("penstock.job.wait", "breaks", "default", "fail"): 1,
    }
