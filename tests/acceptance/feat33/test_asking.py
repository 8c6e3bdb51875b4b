"""What is asked over HTTP: FEAT-33-01, -03, -04, -05, -08, -11, -12."""

from __future__ import annotations

import uuid

from acceptance.feat33.stage import CANARY, PATIENCE, Stage, new
from acceptance.fleet import eventually


def test_feat_33_01_an_ocr_job_is_accepted_and_tracked_as_pending(stage: Stage) -> None:
    document, key = stage.document(), new("key")
    with stage.paused("ocr_queue"):
        answer = stage.post("ocr_queue", "extract_text", {"document_id": document}, key=key)
        assert answer.status_code == 202
        told = answer.json()
        assert told["status"] == "pending"
        row = stage.tracked(told["job_id"])
        assert (row["status"], row["queue_name"], row["job_type"]) == (
            "pending",
            "ocr_queue",
            "extract_text",
        )
        assert row["bull_job_id"] == told["job_id"]
        assert (row["attempts_made"], row["max_attempts"], row["started_at"]) == (0, 3, None)
        assert stage.look(told["job_id"])["state"] == "waiting", "the engine has it"
    stage.becomes(told["job_id"], "completed")


def test_feat_33_03_an_unknown_queue_is_400_and_nothing_is_created(stage: Stage) -> None:
    key = new("key")
    answer = stage.post("no_such_queue", "extract_text", {"document_id": "x"}, key=key)
    assert (answer.status_code, answer.json()["error"]["code"]) == (400, "invalid")
    assert answer.json()["error"]["fields"] == [{"field": "queue", "problem": "there is no such queue"}]
    assert stage.with_key(key) == 0


def test_feat_33_04_a_payload_without_its_target_is_400_and_nothing_is_created(stage: Stage) -> None:
    key = new("key")
    answer = stage.post("ocr_queue", "extract_text", {}, key=key)
    assert (answer.status_code, answer.json()["error"]["code"]) == (400, "invalid")
    (field,) = answer.json()["error"]["fields"]
    assert field["field"] == "payload.document_id"
    assert "missing" in field["problem"]
    assert stage.with_key(key) == 0


def test_feat_33_05_without_the_engine_enqueueing_is_retryable_or_durable_and_logged_without_secrets(
    stage: Stage,
) -> None:
    user, key = new("user"), new("key")
    job = "notification_queue", "notify", {"user_id": user, "message": CANARY[::-1]}
    assert stage.clients["ana"].get("/jobs").status_code == 200, "the service knows the token"
    before = len(stage.service.log())
    with stage.outage():
        answer = stage.post(*job, key=key)
        if stage.durable:
            assert (answer.status_code, answer.json()["status"]) == (202, "pending")
            assert stage.tracked(answer.json()["job_id"])["status"] == "pending"
        else:
            assert (answer.status_code, answer.json()["error"]["code"]) == (503, "unavailable")
            assert int(answer.headers["retry-after"]) > 0
        said = "dispatched later" if stage.durable else "answered 503: EngineUnavailable"
        eventually(lambda: said in stage.service.log()[before:], PATIENCE, f"logged: {said}")
        assert CANARY not in answer.text
    if not stage.durable:
        assert stage.with_key(key) == 0, "nothing was half created"
    again = stage.post(*job, key=key)
    assert (again.status_code, again.json()["duplicate"]) == (202, stage.durable)
    stage.becomes(again.json()["job_id"], "completed")
    assert stage.notifications(user) == [CANARY[::-1]]
    assert CANARY not in stage.everything_said()


def test_feat_33_08_the_same_key_is_the_same_job_and_one_effect(stage: Stage) -> None:
    user, key = new("user"), new("key")
    job = "notification_queue", "notify", {"user_id": user, "message": "ready"}
    first = stage.post(*job, key=key).json()
    second = stage.post(*job, key=key).json()
    stage.becomes(first["job_id"], "completed")
    third = stage.post(*job, key=key).json()
    assert {first["job_id"], second["job_id"], third["job_id"]} == {first["job_id"]}
    assert [first["duplicate"], second["duplicate"], third["duplicate"]] == [False, True, True]
    assert third["status"] == "completed"
    assert stage.notifications(user) == ["ready"]
    assert len(stage.runs(first["job_id"])) == 1


def test_feat_33_11_the_status_of_a_job_has_its_times_and_not_its_payload(stage: Stage) -> None:
    job = stage.enqueue("notification_queue", "notify", {"user_id": new("user"), "message": "private words"})
    seen = stage.becomes(job, "completed")
    assert seen["created_at"] <= seen["started_at"] <= seen["finished_at"] <= seen["updated_at"]
    assert (seen["attempts_made"], seen["max_attempts"]) == (1, 3)
    assert "payload" not in seen
    for who in ("ana", "bea"):
        assert "private words" not in stage.clients[who].get(f"/jobs/{job}").text
    assert stage.look(job, "admin")["payload"]["message"] == "private words", "an admin may"


def test_feat_33_12_the_job_of_another_is_404_as_one_that_is_not_there(stage: Stage) -> None:
    job = stage.enqueue("notification_queue", "notify", {"user_id": new("user"), "message": "hello"})
    stage.becomes(job, "completed")
    foreign, unknown = (stage.clients["bea"].get(f"/jobs/{each}") for each in (job, uuid.uuid4()))
    assert (foreign.status_code, unknown.status_code) == (404, 404)
    assert foreign.json() == unknown.json()
    assert stage.clients["bea"].get("/jobs").json()["jobs"] == []
    assert stage.look(job)["status"] == stage.look(job, "admin")["status"] == "completed"
