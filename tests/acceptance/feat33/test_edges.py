"""The document's edge cases, in its order."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest

from acceptance.feat33.stage import CANARY, DOCUMENT, MAX_PAYLOAD, PATIENCE, Stage, new
from acceptance.fleet import eventually
from penstock import Penstock
from penstock.model.errors import EngineUnsafe
from servers import RedisServer


def test_feat_33_edge_01_duplicate_enqueue_requests_make_one_job_and_one_effect(stage: Stage) -> None:
    user, key = new("user"), new("key")

    def ask(_: int) -> tuple[str, bool]:
        told = stage.post(
            "notification_queue", "notify", {"user_id": user, "message": "once"}, key=key
        ).json()
        return told["job_id"], told["duplicate"]

    with ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(ask, range(16)))
    assert len({job for job, _ in answers}) == 1
    assert [duplicate for _, duplicate in answers].count(False) == 1
    stage.becomes(answers[0][0], "completed")
    assert stage.notifications(user) == ["once"]


def test_feat_33_edge_02_a_job_whose_worker_crashes_runs_again_and_completes(stage: Stage) -> None:
    document = stage.document("a few words")
    with stage.held(DOCUMENT, document):
        job = stage.enqueue("ocr_queue", "extract_text", {"document_id": document})
        ((pid, _, _),) = eventually(lambda: stage.runs(job), PATIENCE, "begun")
        assert pid in stage.workers.workers()
        os.kill(pid, signal.SIGKILL)
        eventually(lambda: len(stage.runs(job)) == 2, PATIENCE, "begun again")
    seen = stage.becomes(job, "completed")
    assert seen["attempts_made"] <= seen["max_attempts"]
    assert stage.sql("select text from documents where id = %s", document) == [("A FEW WORDS",)]
    eventually(lambda: len(stage.workers.workers()) == 2, PATIENCE, "another worker in its place")


def test_feat_33_edge_03_a_disconnected_engine_is_seen_in_logs_and_health_without_credentials(
    stage: Stage,
) -> None:
    admin = stage.clients["admin"]
    before = len(stage.lines())
    with stage.outage():
        health, ready = admin.get("/health"), admin.get("/readyz")
        told = health.json()
        assert (told["status"], told["engine"]["status"]) == ("unhealthy", "unreachable")
        assert ready.status_code == (200 if stage.durable else 503)
        assert admin.get("/healthz").status_code == 200, "no reason to restart the service"
        eventually(
            lambda: [line for line in stage.lines()[before:] if line["level"] in ("warn", "error")],
            PATIENCE,
            "workers say so",
        )
        assert CANARY not in health.text + ready.text
    assert admin.get("/health").json()["engine"]["status"] == "ok"
    job = stage.enqueue("notification_queue", "notify", {"user_id": new("user"), "message": "back"})
    stage.becomes(job, "completed")
    assert CANARY not in stage.everything_said()


async def test_feat_33_edge_04_workers_refuse_a_redis_that_evicts_and_say_what_to_do(tmp_path: Path) -> None:
    with RedisServer(appendonly="yes", maxmemory_policy="allkeys-lru") as server:
        async with Penstock(server.url(), ledger=f"sqlite:///{tmp_path / 'ledger.db'}") as app:
            with pytest.raises(EngineUnsafe, match=r"eviction: .*noeviction"):
                await app.worker().run(burst=True)


@contextmanager
def unsaved(stage: Stage, job_id: str) -> Iterator[None]:
    """The database has no room for the end of this job."""
    table = "penstock.background_jobs" if stage.durable else "penstock.finished"
    state = "status" if stage.durable else "state"
    function = """
        create function no_room() returns trigger language plpgsql as $$ begin
            raise exception 'no space left on device' using errcode = 'disk_full';
        end $$
    """
    stage.sql(function)
    stage.sql(
        f"create trigger no_room before insert or update on {table} for each row "
        f"when (new.id = '{job_id}' and new.{state} = 'completed') execute function no_room()"
    )
    try:
        yield
    finally:
        stage.sql("drop function no_room cascade")


def test_feat_33_edge_05_a_job_is_not_completed_before_its_status_is_saved(stage: Stage) -> None:
    document = stage.document()
    with ExitStack() as full:
        with stage.held(DOCUMENT, document):
            job = stage.enqueue("ocr_queue", "extract_text", {"document_id": document})
            stage.becomes(job, "processing")
            full.enter_context(unsaved(stage, job))
        eventually(lambda: "no space left" in stage.workers.log(), PATIENCE, "it could not be saved")
        assert stage.look(job)["status"] == stage.tracked(job)["status"] == "processing"
        assert "completed" not in stage.told(job)
    stage.becomes(job, "completed")
    assert stage.tracked(job)["status"] == "completed"


def test_feat_33_edge_06_a_poison_job_exhausts_its_attempts_and_is_failed(stage: Stage) -> None:
    malformed = {"to": "ana@feat33.test", "subject": "two\nlines"}  # no header may have them
    job = stage.enqueue("email_queue", "send_email", malformed)
    seen = stage.becomes(job, "failed")
    assert (seen["attempts_made"], seen["max_attempts"]) == (3, 3)
    assert seen["next_attempt_at"] is None
    assert stage.clients["admin"].get(f"/dead-letters/{job}").json()["reason"] == "exhausted"


def test_feat_33_edge_07_large_content_stays_in_storage_and_a_large_payload_is_refused(stage: Stage) -> None:
    large, key = "word " * MAX_PAYLOAD, new("key")
    answer = stage.post("ocr_queue", "extract_text", {"document_id": large}, key=key)
    assert (answer.status_code, answer.json()["error"]["code"]) == (413, "too_large")
    assert stage.with_key(key) == 0
    job = stage.enqueue("ocr_queue", "extract_text", {"document_id": stage.document(large)})
    assert stage.becomes(job, "completed")["result"] == {"characters": len(large)}
    assert len(stage.tracked(job)["payload_json"]) < 100


def test_feat_33_edge_08_a_deleted_target_ends_the_job_as_its_type_has_it(stage: Stage) -> None:
    gone = {"document_id": stage.document()}
    stage.sql("delete from documents where id = %s", gone["document_id"])
    read = stage.enqueue("ocr_queue", "extract_text", gone)
    indexed = stage.enqueue("indexing_queue", "index_document", gone)
    seen = stage.becomes(read, "failed")
    assert (seen["attempts_made"], seen["error"]) == (1, "Unrecoverable: the document is gone")
    seen = stage.becomes(indexed, "completed")
    assert seen["result"] is None
    line = eventually(lambda: stage.told(indexed).get("completed"), PATIENCE, "told")
    assert "the document was deleted" in line["metadata"]["note"]


def test_feat_33_edge_09_an_index_waits_for_the_text_without_burning_attempts(stage: Stage) -> None:
    document = stage.document("three plain words")
    index = stage.enqueue("indexing_queue", "index_document", {"document_id": document})
    eventually(lambda: "retrying" in stage.told(index), PATIENCE, "it came too early")
    assert stage.sql("select * from search_index where document_id = %s", document) == []
    read = stage.enqueue("ocr_queue", "extract_text", {"document_id": document})
    stage.becomes(read, "completed")
    seen = stage.becomes(index, "completed")
    assert (seen["attempts_made"], seen["result"]) == (1, 3)
    assert stage.sql("select words from search_index where document_id = %s", document) == [(3,)]


def test_feat_33_edge_10_effects_are_made_once_by_several_workers_and_runs(stage: Stage) -> None:
    user = new("user")
    texts = [f"{n:02}" for n in range(12)]
    jobs = [
        stage.enqueue("notification_queue", "notify", {"user_id": user, "message": text, "fails_after": True})
        for text in texts
    ]
    for job in jobs:
        assert stage.becomes(job, "completed")["attempts_made"] == 2
    assert [len(stage.runs(job)) for job in jobs] == [2] * 12
    assert stage.notifications(user) == texts


def test_feat_33_edge_11_no_log_and_no_answer_has_what_is_private(stage: Stage) -> None:
    user, secret = new("user"), new("secret")
    stage.sql("insert into users values (%s, 1)", user)
    document = stage.document(f"private {secret}")
    jobs = [
        stage.enqueue("ocr_queue", "extract_text", {"document_id": document}),
        stage.enqueue("ai_processing_queue", "summarise", {"document_id": document, "user_id": user}),
        stage.enqueue("notification_queue", "notify", {"user_id": user, "message": secret}),
    ]
    for job in jobs:
        stage.becomes(job, "completed")
    summary = {"document_id": document, "user_id": user, "provider_key": secret}
    stage.sql("update users set credits = 1 where id = %s", user)
    jobs.append(stage.enqueue("ai_processing_queue", "summarise", summary))
    error = stage.becomes(jobs[-1], "failed")["error"]
    assert error.startswith("ConnectionRefusedError: POST https://")
    refused = stage.post("ocr_queue", "extract_text", {"document_id": [secret]})
    assert refused.status_code == 400
    answers = [stage.clients["ana"].get(f"/jobs/{job}").text for job in jobs]
    answers += [stage.clients["ana"].get("/jobs").text, refused.text]
    assert not [answer for answer in answers if secret in answer]
    for never in (secret, CANARY, stage.clients["ana"].headers["authorization"].split()[1]):
        assert never not in stage.everything_said()
    assert secret not in stage.tracked(jobs[-1])["error_message"]
    assert all(document in stage.tracked(job)["payload_json"] for job in jobs[:2]), "by reference"
