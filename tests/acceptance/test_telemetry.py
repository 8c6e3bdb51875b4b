"""What a real worker tells: its log, line by line, and its counts."""

from __future__ import annotations

import json
import signal
from pathlib import Path
from typing import Any

import pytest

from acceptance import jobs
from acceptance.conftest import _world
from acceptance.fleet import JOBS, Site, new_url
from acceptance.world import World
from penstock import JobFailed

PATIENCE = 30.0


@pytest.fixture
def world(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    yield from _world(Site(tmp_path / "site", new_url("sqlite", tmp_path)), monkeypatch)


def test_the_log_covers_a_success_and_a_failure_and_so_do_the_metrics(world: World) -> None:
    tree = world.start("--log-format", "json")
    done, failed = jobs.says.enqueue(how="well"), jobs.says.enqueue(how="unrecoverable")
    done.result(timeout=PATIENCE)
    with pytest.raises(JobFailed):
        failed.result(timeout=PATIENCE)
    tree.signal(signal.SIGTERM)
    assert tree.exit_code(PATIENCE) == 0

    lines = [json.loads(line) for line in tree.log().splitlines()]
    told = {(line["job_id"], line["event"]): line for line in lines if "event" in line}
    assert told.keys() == {
        *((done.id, event) for event in ("started", "completed")),
        *((failed.id, event) for event in ("started", "failed")),
    }
    for job, end in ((done, "completed"), (failed, "failed")):
        line = told[job.id, end]
        assert (line["queue"], line["job_name"], line["attempt"]) == ("default", "says", 1)
        assert (line["previous_status"], line["status"]) == ("processing", end)
        assert line["duration_ms"] >= 0
        assert line["message"] == f"[default] says:{job.id} - {end}"
    assert (told[failed.id, "failed"]["level"], told[failed.id, "failed"]["alert_level"]) == (
        "error",
        "error",
    )

    found = json.loads(world.site.run("metrics", "--app", JOBS, "--json", "--last", "hour").stdout)
    (queue,) = [each for each in found["queues"] if each["queue"] == "default"]
    assert (queue["error_rate"], queue["dead_letters"], found["dlq_size"]) == (0.5, 1.0, 1)
