"""Where the output goes, and where it cannot go: no traceback, and a code that tells."""

from __future__ import annotations

import os
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest
from cli_kit import APP, Run, runner  # noqa: F401 - fixtures

from penstock.cli import demo, workers
from penstock.cli.output import counted
from penstock.engine import WorkerInfo
from penstock.model.states import State
from penstock.tasks.loading import load_app


@pytest.fixture(name="shell")
def shell_in_shop(tmp_path: Path):
    """Run a line of shell, in which $P is our command, beside a shop."""
    (tmp_path / "cli_shop.py").write_text(APP.format(file=tmp_path / "jobs.db"))

    def shell(line: str) -> subprocess.CompletedProcess[str]:
        known = {"P": f"{sys.executable} -m penstock", "PENSTOCK_APP": "cli_shop:app"}
        words = ["bash", "-o", "pipefail", "-c", line]
        return subprocess.run(
            words,
            cwd=tmp_path,
            env={**os.environ, **known},
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )

    return shell


@pytest.mark.parametrize("words", ["tasks", "tasks --json", "tasks --markdown", "queues", "jobs --json"])
def test_a_reader_that_has_seen_enough_ends_it_quietly(shell, words: str) -> None:
    done = shell(f"$P {words} | true")
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize(
    ("line", "code"), [("$P queues >&-", 0), ("$P job x >&- 2>&-", 1), ("$P job x 2>&-", 1)]
)
def test_closed_streams_change_no_code_and_leave_no_traceback(shell, line: str, code: int) -> None:
    done = shell(line)
    assert (done.returncode, done.stdout, done.stderr) == (code, "", "")


def test_a_worker_works_without_standard_streams(
    shell, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    app = load_app("cli_shop.py:app")
    with app:
        job = app.tasks["send_receipt"].enqueue(order_id=1)
        command = f"exec {sys.executable} -m penstock worker --app cli_shop:app <&- >&- 2>&-"
        with subprocess.Popen(["bash", "-c", command]) as worker:
            try:
                assert job.result(timeout=30) == "sent"
            finally:
                worker.terminate()
        assert worker.returncode == 0


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="this system has no disk that is always full")
@pytest.mark.parametrize("words", ["queues", "queues --json"])
def test_a_full_disk_is_told_and_is_no_bug_of_ours(shell, words: str) -> None:
    done = shell(f"$P {words} >/dev/full")
    assert done.returncode == 1
    assert done.stderr == "error the output cannot be written: No space left on device\n"


def test_the_version_is_told(run: Run) -> None:
    said = run("--version")
    assert said.code == 0
    assert said.out.startswith("penstock 0.")


@pytest.mark.parametrize(("n", "said"), [(0, "0 jobs"), (1, "1 job"), (2, "2 jobs"), (1_000, "1,000 jobs")])
def test_one_is_one_and_two_are_many(n: int, said: str) -> None:
    assert counted(n, "job") == said


def test_a_worker_is_never_busier_than_its_slots() -> None:
    worker = WorkerInfo(id="w", name="host:1", queues=("default",), slots=10, active=16)
    assert workers._busy(worker) == "10/10 +6 ahead"


def test_the_demo_never_shows_more_at_work_than_there_are_slots() -> None:
    seen = demo.as_seen(Counter({State.ACTIVE: demo.SLOTS + 6, State.WAITING: 5}))
    assert (seen[State.ACTIVE], seen[State.WAITING]) == (demo.SLOTS, 11)
    assert demo.as_seen(Counter({State.ACTIVE: 3})) == {State.ACTIVE: 3}
