"""Settings: from the environment, by our names or the documents', and from code, which wins."""

from __future__ import annotations

import os
from datetime import time
from typing import TYPE_CHECKING, Any

from pydantic import AliasChoices, BaseModel, ConfigDict, Field, ValidationError, model_validator

from penstock.logs import LogFormat
from penstock.model.access import MAX_QUOTA
from penstock.model.errors import MAX_SECONDS, InvalidOption
from penstock.model.retry import Retry
from penstock.model.values import MAX_ARGS_BYTES, MAX_RESULT_BYTES
from penstock.tasks.inherit import MAX_PROCESSES, MAX_SLOTS

DAY = 86_400.0


def _named(*names: str) -> AliasChoices:
    return AliasChoices(*names)


class Settings(BaseModel):
    """How an app behaves. Every field is read from `PENSTOCK_<NAME>` where code does not give it."""

    model_config = ConfigDict(frozen=True, extra="forbid", populate_by_name=True, hide_input_in_errors=True)

    url: str = Field(
        default="sqlite:///penstock.db",
        validation_alias=_named("PENSTOCK_URL", "REDIS_URL"),
        repr=False,
        min_length=1,
    )
    outbox: str | None = Field(default=None, repr=False, min_length=1)  # the URL of the user's own database
    outbox_name: str | None = Field(
        default=None, min_length=1, max_length=255
    )  # in the tables of the outbox, in the place of the engine's address
    keep_outbox_for: float = Field(default=DAY, ge=0, le=MAX_SECONDS)  # seconds since the dispatch
    ledger: str | None = Field(default=None, repr=False, min_length=1)  # URL of a database beside Redis
    schema_name: str = Field(default="penstock", validation_alias=_named("PENSTOCK_SCHEMA"))
    accept_unsafe: str = ""  # names of what is unsafe about the engine, with commas between them
    migrate: bool | None = None  # bring the schema up to date when opening; None: not on PostgreSQL
    concurrency: int = Field(
        default=5,
        ge=1,
        le=MAX_SLOTS,
        validation_alias=_named("PENSTOCK_CONCURRENCY", "JOB_QUEUE_WORKER_CONCURRENCY"),
    )  # slots per worker process
    processes: int = Field(default=1, ge=1, le=MAX_PROCESSES)
    lease: float = Field(
        default=30.0, ge=1, le=MAX_SECONDS
    )  # seconds without a heartbeat after which a worker is given up
    grace: float = Field(
        default=30.0, ge=0, le=MAX_SECONDS
    )  # seconds that running jobs get to finish at shutdown
    timeout: float | None = Field(default=300.0, gt=0, le=MAX_SECONDS)  # seconds a run may take
    retry: str | None = None  # the name of a policy, in place of attempts and retry_delay
    attempts: int = Field(
        default=3, ge=1, validation_alias=_named("PENSTOCK_ATTEMPTS", "JOB_QUEUE_DEFAULT_ATTEMPTS")
    )
    retry_delay: float = Field(default=5.0, ge=0, le=MAX_SECONDS)  # seconds before the first retry
    backoff_ms: float | None = Field(
        default=None, ge=0, le=MAX_SECONDS * 1_000, validation_alias=_named("JOB_QUEUE_DEFAULT_BACKOFF_MS")
    )
    keep_completed: int | None = Field(
        default=1_000,
        ge=0,
        validation_alias=_named("PENSTOCK_KEEP_COMPLETED", "JOB_QUEUE_REMOVE_ON_COMPLETE"),
    )
    keep_failed: int | None = Field(
        default=5_000, ge=0, validation_alias=_named("PENSTOCK_KEEP_FAILED", "JOB_QUEUE_REMOVE_ON_FAIL")
    )
    keep_for: float | None = Field(default=DAY, ge=0, le=MAX_SECONDS)  # seconds since the end
    clean_up_at: time = time(3)  # of the day, in UTC: when what is older than keep_for is removed
    keep_dead_letters_for: float = Field(default=30 * DAY, ge=0, le=MAX_SECONDS)
    keep_history: int = Field(default=100_000, ge=0)  # records of pruned jobs, of all queues; 0: none
    keep_history_for: float = Field(default=30 * DAY, ge=0, le=MAX_SECONDS)  # seconds since the end; 0: none
    keep_audit_for: float = Field(default=365 * DAY, ge=0, le=MAX_SECONDS)  # seconds since the action
    keep_effects_for: float | None = Field(
        default=None, ge=0, le=MAX_SECONDS
    )  # seconds; None: 60 days, or as long as a job of the task may run again
    alerts: str | None = Field(default=None, min_length=1)  # the file of rules and channels; "off": none
    metrics: bool = True  # count what ends, and how long it took
    log_format: LogFormat = "console"  # of `penstock worker` and its like, from the environment alone
    health_backlogged: int = Field(default=1_000, ge=0)  # waiting jobs above which a queue is backlogged
    health_stalled: int = Field(default=5_000, ge=0)  # and stalled
    health_stalled_after: float = Field(default=300.0, ge=1, le=MAX_SECONDS)  # seconds in which nothing moves
    health_error_rate: float = Field(default=0.10, ge=0, le=1)  # of what ended in the last minute
    max_waiting: int | None = Field(
        default=100_000, ge=1, le=MAX_QUOTA
    )  # unfinished jobs of one owner, beyond which HTTP refuses more
    max_args_bytes: int = Field(default=MAX_ARGS_BYTES, ge=2)
    max_result_bytes: int = Field(default=MAX_RESULT_BYTES, ge=2)

    if not TYPE_CHECKING:  # a checker knows the fields by themselves

        def __init__(self, **given: Any) -> None:
            """From the environment and from `given`; InvalidOption names every bad one, never its value."""
            try:
                super().__init__(**given)
            except ValidationError as error:
                raise _unreadable(error) from None

    @model_validator(mode="before")
    @classmethod
    def _from_environment(cls, given: dict[str, Any]) -> dict[str, Any]:
        found = {}
        for name in cls.model_fields.keys() - given.keys():
            variable = next((v for v in variables_of(name) if v in os.environ), None)
            if variable is not None:
                text = os.environ[variable]
                lifted = text.lower() == "none" and name != "retry"  # whose "none" is a policy
                found[name] = None if lifted else text
        return found | given

    @property
    def accepted(self) -> frozenset[str]:
        """What is unsafe about the engine, and accepted all the same."""
        return frozenset(name.strip() for name in self.accept_unsafe.split(",")) - {""}

    @property
    def default_retry(self) -> Retry:
        """The policy of every queue that declares none."""
        if self.retry is not None:
            return Retry.of(self.retry)
        given = "retry_delay" in self.model_fields_set or self.backoff_ms is None
        return Retry(self.attempts, self.retry_delay if given else (self.backoff_ms or 0.0) / 1_000)


def _unreadable(error: ValidationError) -> InvalidOption:
    found = [f"{_variable(str(e['loc'][0]))}: {e['msg']}" for e in error.errors(include_input=False)]
    return InvalidOption("settings cannot be read\n  " + "\n  ".join(found))


def variables_of(name: str) -> list[str]:
    """The environment variables that set a field, ours first."""
    alias = Settings.model_fields[name].validation_alias
    if isinstance(alias, AliasChoices):
        return [str(choice) for choice in alias.choices]
    return [f"PENSTOCK_{name.upper()}"]


def _variable(loc: str) -> str:
    """The name under which a person gave the setting."""
    for name in Settings.model_fields:
        names = variables_of(name)
        if loc == name or loc.upper() in names:
            return next((n for n in names if n in os.environ), name)
    return loc
