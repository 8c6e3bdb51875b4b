"""What becomes of jobs: FEAT-33-02, -06, -07, -09, -10, -13, -14, -15."""

from __future__ import annotations

from collections import Counter
from itertools import pairwise

from acceptance.feat33.stage import DOCUMENT, PATIENCE, Stage, new
from acceptance.fleet import eventually


def test_feat_33_02_a_worker_completes_an_ocr_job_and_logs_how_long_it_took(stage: Stage) -> None:
    document = stage.document("a few words")
    with stage.held(DOCUMENT, document):
        with stage.paused("ocr_queue"):
            job = stage.enqueue("ocr_queue", "extract_text", {"document_id": document})
            assert stage.tracked(job)["status"] == stage.look(job)["status"] == "pending"
        stage.becomes(job, "processing")
        assert stage.tracked(job)["status"] == "processing"
    seen = stage.becomes(job, "completed")
    row = stage.tracked(job)
    assert (row["status"], row["attempts_made"], row["error_message"]) == ("completed", 1, None)
    assert seen["created_at"] <= seen["started_at"] <= seen["finished_at"]
    assert seen["result"] == {"characters": 11}
    assert stage.sql("select text from documents where id = %s", document) == [("A FEW WORDS",)]
    line = eventually(lambda: stage.told(job).get("completed"), PATIENCE, "told")
    assert line["duration_ms"] > 0


def test_feat_33_06_a_worker_retries_with_backoff_after_a_transient_failure(stage: Stage) -> None:
    to = new("busy") + "@feat33.test"
    job = stage.enqueue("email_queue", "send_email", {"to": to, "subject": "hello"})
    seen = stage.becomes(job, "completed")
    assert (seen["attempts_made"], seen["max_attempts"], seen["error"]) == (2, 3, None)
    assert len(stage.mail.inboxes[to]) == 1
    retrying = stage.told(job)["retrying"]
    assert (retrying["attempt"], retrying["status"]) == (1, "processing")
    assert "the mailbox is busy" in retrying["error"]


def test_feat_33_07_a_job_that_fails_every_time_is_failed_with_a_safe_summary(stage: Stage) -> None:
    to = new("full") + "@feat33.test"
    job = stage.enqueue("email_queue", "send_email", {"to": to, "subject": "hello"})
    seen = stage.becomes(job, "failed")
    row = stage.tracked(job)
    assert (row["status"], row["attempts_made"], row["max_attempts"]) == ("failed", 3, 3)
    assert row["error_message"] == seen["error"]
    assert seen["error"].startswith("SMTPDataError: ")
    assert "Traceback" not in seen["error"]
    assert row["finished_at"] is not None
    first, second = (after - before for before, after in pairwise(stage.mail.tries[to]))
    assert first >= 0.2
    assert second >= 0.4


def test_feat_33_09_a_notification_is_persisted_once(stage: Stage) -> None:
    user = new("user")
    job = stage.enqueue("notification_queue", "notify", {"user_id": user, "message": "ready"})
    stage.becomes(job, "completed")
    assert stage.notifications(user) == ["ready"]


def test_feat_33_10_an_email_is_sent_and_the_request_does_not_wait_for_it(stage: Stage) -> None:
    to = new("slow") + "@feat33.test"
    stage.mail.held.clear()
    try:
        job = stage.enqueue("email_queue", "send_email", {"to": to, "subject": "hello"})
        eventually(lambda: stage.mail.tries[to], PATIENCE, "under way")
        assert stage.mail.inboxes[to] == []
        assert stage.look(job)["status"] == "processing"
    finally:
        stage.mail.held.set()
    stage.becomes(job, "completed")
    (message,) = stage.mail.inboxes[to]
    assert (message["To"], message["Subject"]) == (to, "hello")


def test_feat_33_13_two_workers_share_a_queue_and_no_effect_is_made_twice(stage: Stage) -> None:
    user = new("user")
    texts = [f"{n:02}" for n in range(30)]
    with stage.held("lock table notifications in exclusive mode"):
        jobs = [
            stage.enqueue("notification_queue", "notify", {"user_id": user, "message": text})
            for text in texts
        ]
        eventually(
            lambda: len({pid for job in jobs for pid, _, _ in stage.runs(job)}) == 2,
            PATIENCE,
            "both have some",
        )
    for job in jobs:
        stage.becomes(job, "completed")
    assert stage.notifications(user) == texts
    assert [len(stage.runs(job)) for job in jobs] == [1] * 30


def test_feat_33_14_a_worker_runs_no_more_ocr_jobs_at_once_than_it_may(stage: Stage) -> None:
    documents = [stage.document() for _ in range(12)]
    with stage.held("select 1 from documents for update"):
        jobs = [stage.enqueue("ocr_queue", "extract_text", {"document_id": each}) for each in documents]
        eventually(lambda: sum(len(stage.runs(job)) for job in jobs) == 4, PATIENCE, "two each")
    for job in jobs:
        stage.becomes(job, "completed")
    runs = [run for job in jobs for run in stage.runs(job)]
    assert len(runs) == 12
    most = Counter[int]()
    for pid, began, _ in runs:
        at_once = sum(one == pid and first <= began < last for one, first, last in runs)
        most[pid] = max(most[pid], at_once)
    assert max(most.values()) == 2


def test_feat_33_14_two_workers_send_more_emails_at_once_than_they_read_documents(stage: Stage) -> None:
    people = [new("slow") + "@feat33.test" for _ in range(12)]
    stage.mail.held.clear()
    try:
        jobs = [stage.enqueue("email_queue", "send_email", {"to": to, "subject": "hello"}) for to in people]
        eventually(lambda: all(stage.mail.tries[to] for to in people), PATIENCE, "six each, at once")
    finally:
        stage.mail.held.set()
    for job in jobs:
        stage.becomes(job, "completed")


def test_feat_33_15_the_log_covers_a_success_and_a_failure(stage: Stage) -> None:
    rich, poor, course = new("user"), new("user"), new("course")
    stage.sql("insert into users values (%s, 1), (%s, 0)", rich, poor)
    done = stage.enqueue("course_generation_queue", "outline", {"course_id": course, "user_id": rich})
    stage.becomes(done, "completed")
    failed = stage.enqueue("course_generation_queue", "outline", {"course_id": f"{course}b", "user_id": poor})
    stage.becomes(failed, "failed")
    for job, end in ((done, "completed"), (failed, "failed")):
        line = eventually(lambda job=job, end=end: stage.told(job).get(end), PATIENCE, f"told {end}")
        assert (line["queue"], line["job_name"]) == ("course_generation_queue", "outline")
        assert (line["previous_status"], line["status"]) == ("processing", end)
        assert (line["attempt"], line["max_attempts"]) == (1, 3)
        assert line["duration_ms"] > 0
        assert line["started_at"] <= line["finished_at"]
    assert stage.told(failed)["failed"]["error"] == "Unrecoverable: no credits are left"
    steps = "select job_type from penstock.background_jobs where idempotency_key like %s order by 1"
    assert stage.sql(steps, f"%:{course}") == [("final_exam",), ("outline",)]
    assert stage.sql(steps, f"%:{course}b") == [("outline",)], "the pipeline ended there"
