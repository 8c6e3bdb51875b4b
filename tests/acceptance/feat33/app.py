"""A small application with the document's six queues. Its tables are in PostgreSQL, whichever the engine."""

from __future__ import annotations

import os
import smtplib
from collections.abc import Iterator
from contextlib import contextmanager
from email.message import EmailMessage
from typing import Annotated

import psycopg

from penstock import NoOp, Penstock, Retry, Secret, Snooze, SyncContext, Unrecoverable

DATABASE, SMTP = "FEAT33_DATABASE", "FEAT33_SMTP"

TABLES = """
create table users (id text primary key, credits integer not null default 1);
create table documents (id text primary key, content text not null, text text);
create table search_index (document_id text primary key, words integer not null);
create table summaries (document_id text primary key, summary text not null);
create table notifications (id serial primary key, user_id text not null, message text not null);
create table runs (
    id serial primary key, job_id text not null, task text not null, pid integer not null,
    began timestamptz not null default clock_timestamp(), ended timestamptz
);
"""

app = Penstock()
SOON = Retry(3, 0.2)
for slow in ("ocr_queue", "ai_processing_queue", "course_generation_queue"):
    app.queue(slow, concurrency=2, retry=SOON)
for quick in ("indexing_queue", "email_queue", "notification_queue"):
    app.queue(quick, concurrency=6, retry=SOON)


@app.task(queue="ocr_queue")
def extract_text(ctx: SyncContext, document_id: str) -> dict[str, int]:
    """Reads a document; whoever else works on it is waited for."""
    with noted(ctx), database() as connection:
        found = connection.execute(
            "select content from documents where id = %s for update", [document_id]
        ).fetchone()
        if found is None:
            raise Unrecoverable("the document is gone")
        connection.execute("select pg_sleep(0.05)")
        connection.execute("update documents set text = upper(content) where id = %s", [document_id])
    return {"characters": len(found[0])}


@app.task(queue="ai_processing_queue")
def summarise(
    ctx: SyncContext, document_id: str, user_id: str, provider_key: Annotated[str, Secret] = ""
) -> None:
    """Costs a credit, once, before anything is asked of anybody; the provider refuses every key."""
    with database() as connection:
        spend(ctx, connection, user_id)
        connection.execute(
            "insert into summaries select id, left(content, 9) from documents where id = %s "
            "on conflict do nothing",
            [document_id],
        )
    if provider_key:
        raise ConnectionRefusedError(f"POST https://app:{provider_key}@ai.test said no to {provider_key}")


@app.task(queue="indexing_queue")
def index_document(document_id: str) -> int:
    """Waits for the text; a document that was deleted needs no index."""
    with database() as connection:
        found = connection.execute("select text from documents where id = %s", [document_id]).fetchone()
        if found is None:
            raise NoOp("the document was deleted")
        if found[0] is None:
            raise Snooze(0.2, "the document has not been read yet")
        words = len(found[0].split())
        connection.execute(
            "insert into search_index values (%s, %s) on conflict (document_id) do update set words = %s",
            [document_id, words, words],
        )
    return words


@app.task(queue="email_queue")
def send_email(ctx: SyncContext, to: str, subject: str) -> None:
    """Over SMTP, under an id that is the same in every attempt."""
    message = EmailMessage()
    message["Message-ID"] = f"<{ctx.key_for('smtp')}@feat33.test>"
    message["From"], message["To"], message["Subject"] = "app@feat33.test", to, subject
    message.set_content("See the application.")
    host, _, port = os.environ[SMTP].partition(":")
    with noted(ctx), smtplib.SMTP(host, int(port), timeout=30) as server:
        server.send_message(message)


@app.task(queue="notification_queue")
def notify(ctx: SyncContext, user_id: str, message: str, fails_after: bool = False) -> None:
    """Persists a notification once, also where the first run fails after its commit."""
    with noted(ctx):
        with database() as connection:
            if ctx.once("notification", connection=connection):
                connection.execute(
                    "insert into notifications (user_id, message) values (%s, %s)", [user_id, message]
                )
        if fails_after and ctx.attempt == 1:
            raise ConnectionError("lost after the commit")


@app.task(queue="course_generation_queue", key="outline:{course_id}")
def outline(ctx: SyncContext, course_id: str, user_id: str) -> None:
    """Without credits the pipeline ends here."""
    with database() as connection:
        spend(ctx, connection, user_id)
    ctx.enqueue(final_exam.call(course_id=course_id))


@app.task(queue="course_generation_queue", key="final_exam:{course_id}")
def final_exam(course_id: str) -> None:
    """The next step."""


def spend(ctx: SyncContext, connection: psycopg.Connection, user_id: str) -> None:
    """Take one of the user's credits, once for this job."""
    if not ctx.once("credit", connection=connection):
        return
    sql = "update users set credits = credits - 1 where id = %s and credits > 0"
    if not connection.execute(sql, [user_id]).rowcount:
        raise Unrecoverable("no credits are left")


@contextmanager
def database() -> Iterator[psycopg.Connection]:
    """A connection to the application's own tables, committed where all goes well."""
    with psycopg.connect(os.environ[DATABASE]) as connection:
        yield connection


@contextmanager
def noted(ctx: SyncContext) -> Iterator[None]:
    """A row for each run, by itself, whatever becomes of the run."""
    with psycopg.connect(os.environ[DATABASE], autocommit=True) as connection:
        row = connection.execute(
            "insert into runs (job_id, task, pid) values (%s, %s, %s) returning id",
            [ctx.job.id, ctx.job.task, os.getpid()],
        ).fetchone()
        try:
            yield
        finally:
            connection.execute("update runs set ended = clock_timestamp() where id = %s", row)
