"""Settings: our names and the documents', code over environment, and no secret in any message."""

from __future__ import annotations

import os
from datetime import time

import pytest

from penstock import InvalidOption, Penstock, Retry, Settings
from penstock.tasks.urls import masked, sqlite_path

SECRET = "s3cr3t"


@pytest.fixture(autouse=True)
def bare_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in list(os.environ):
        if name.startswith(("PENSTOCK_", "JOB_QUEUE_")) or name == "REDIS_URL":
            monkeypatch.delenv(name)


def test_the_defaults() -> None:
    settings = Settings()
    assert settings.url == "sqlite:///penstock.db"
    assert (settings.concurrency, settings.processes, settings.lease, settings.grace) == (5, 1, 30, 30)
    assert settings.default_retry == Retry(3, 5.0)
    assert (settings.keep_completed, settings.keep_failed, settings.keep_for) == (1_000, 5_000, 86_400)
    assert settings.clean_up_at == time(3)
    assert settings.keep_dead_letters_for == 30 * 86_400


def test_the_documents_names_are_aliases_of_ours(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JOB_QUEUE_DEFAULT_ATTEMPTS", "7")
    monkeypatch.setenv("JOB_QUEUE_DEFAULT_BACKOFF_MS", "2500")
    monkeypatch.setenv("JOB_QUEUE_WORKER_CONCURRENCY", "9")
    monkeypatch.setenv("JOB_QUEUE_REMOVE_ON_COMPLETE", "10")
    monkeypatch.setenv("JOB_QUEUE_REMOVE_ON_FAIL", "50")
    monkeypatch.setenv("REDIS_URL", "redis://cache")
    settings = Settings()
    assert settings.default_retry == Retry(7, 2.5)
    assert (settings.concurrency, settings.keep_completed, settings.keep_failed) == (9, 10, 50)
    assert settings.url == "redis://cache"


def test_our_names_win_over_the_documents(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JOB_QUEUE_DEFAULT_ATTEMPTS", "7")
    monkeypatch.setenv("PENSTOCK_ATTEMPTS", "4")
    monkeypatch.setenv("JOB_QUEUE_DEFAULT_BACKOFF_MS", "2500")
    monkeypatch.setenv("PENSTOCK_RETRY_DELAY", "1")
    monkeypatch.setenv("REDIS_URL", "redis://cache")
    monkeypatch.setenv("PENSTOCK_URL", "sqlite:///ours.db")
    settings = Settings()
    assert settings.default_retry == Retry(4, 1.0)
    assert settings.url == "sqlite:///ours.db"


def test_code_wins_over_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PENSTOCK_URL", "sqlite:///theirs.db")
    monkeypatch.setenv("PENSTOCK_CONCURRENCY", "3")
    monkeypatch.setenv("PENSTOCK_SCHEMA", "theirs")
    app = Penstock("sqlite:///mine.db", schema="mine")
    assert (app.url, app.schema, app.settings.concurrency) == ("sqlite:///mine.db", "mine", 3)
    assert Settings(concurrency=8).concurrency == 8
    assert Penstock(settings=Settings(timeout=None, url="sqlite:///x.db")).queues["default"].timeout is None
    assert Penstock().schema == "theirs"


def test_a_limit_may_be_lifted_by_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PENSTOCK_TIMEOUT", "none")
    assert Penstock("sqlite://:memory:").queues["default"].timeout is None


def test_a_named_policy_may_be_the_default(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PENSTOCK_RETRY", "webhook")
    assert Penstock("sqlite://:memory:").queues["default"].retry.attempts == 5


def test_the_policy_without_retries_may_be_the_default(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PENSTOCK_RETRY", "none")
    assert Penstock("sqlite://:memory:").queues["default"].retry.attempts == 1


def test_bad_values_are_all_told_by_the_name_they_were_given_under(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PENSTOCK_LEASE", SECRET)
    monkeypatch.setenv("JOB_QUEUE_DEFAULT_ATTEMPTS", SECRET)
    with pytest.raises(InvalidOption) as caught:
        Penstock("sqlite://:memory:")
    told = str(caught.value)
    assert "PENSTOCK_LEASE: Input should be a valid number" in told
    assert "JOB_QUEUE_DEFAULT_ATTEMPTS: Input should be a valid integer" in told
    assert SECRET not in told


def test_a_queue_is_changed_by_its_own_variables(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PENSTOCK_QUEUE_COURSE_GEN_CONCURRENCY", "2")
    monkeypatch.setenv("PENSTOCK_QUEUE_COURSE_GEN_RETRY", "none")
    monkeypatch.setenv("PENSTOCK_QUEUE_COURSE_GEN_TIMEOUT", "none")
    monkeypatch.setenv("PENSTOCK_QUEUE_COURSE_GEN_ENABLED", "off")
    monkeypatch.setenv("PENSTOCK_QUEUE_COURSE_GEN_KEEP_FAILED", "9")
    monkeypatch.setenv("PENSTOCK_QUEUE_DEFAULT_PRIORITY", "low")
    app = Penstock("sqlite://:memory:")
    queue = app.queue("course-gen", concurrency=10, timeout=5)
    assert (queue.concurrency, queue.retry.attempts, queue.timeout) == (2, 1, None)
    assert (queue.gate.enabled, queue.retention.keep_failed) == (False, 9)
    assert app.queues["default"].priority.name == "LOW"


@pytest.mark.parametrize("option", ["CONCURRENCY", "TIMEOUT", "ENABLED", "KEEP_FAILED"])
def test_a_bad_variable_of_a_queue_is_named(monkeypatch: pytest.MonkeyPatch, option: str) -> None:
    monkeypatch.setenv(f"PENSTOCK_QUEUE_EMAIL_{option}", SECRET)
    with pytest.raises(InvalidOption, match=f"PENSTOCK_QUEUE_EMAIL_{option}") as caught:
        Penstock("sqlite://:memory:").queue("email")
    assert SECRET not in str(caught.value)


@pytest.mark.parametrize(
    ("url", "path"),
    [
        ("sqlite:///relative.db", "relative.db"),
        ("sqlite:////var/abs.db", "/var/abs.db"),
        ("sqlite://:memory:", ":memory:"),
        ("sqlite:///:memory:", ":memory:"),
    ],
)
def test_sqlite_urls(url: str, path: str) -> None:
    assert sqlite_path(url) == path


@pytest.mark.parametrize("url", ["sqlite://file.db", "sqlite:///", "sqlite://"])
def test_a_sqlite_url_without_a_file_says_how_to_write_it(url: str) -> None:
    with pytest.raises(InvalidOption, match=r"sqlite:///relative\.db"):
        Penstock(url)


def test_an_unknown_scheme_lists_what_may_be_and_shows_no_secret() -> None:
    with pytest.raises(InvalidOption, match="sqlite://, postgresql:// or redis://") as caught:
        Penstock(f"mysql://user:{SECRET}@host/db")
    assert SECRET not in str(caught.value)
    with pytest.raises(InvalidOption, match="no scheme"):
        Penstock("jobs.db")


def test_urls_are_shown_without_their_secrets() -> None:
    url = f"postgresql://me:{SECRET}@host:5432/db?sslmode=require&sslpassword={SECRET}"
    app = Penstock(url)
    assert SECRET not in repr(app) + repr(app.settings) + app.safe_url
    assert masked(url) == "postgresql://me:***@host:5432/db?sslmode=require&sslpassword=***"
    assert masked(f"postgresql://me:a@b{SECRET}@host/db") == "postgresql://me:***@host/db"
    assert masked("sqlite:///x.db") == "sqlite:///x.db"
