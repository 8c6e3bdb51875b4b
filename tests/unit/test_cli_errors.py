"""Wrong use and trouble on the command line: one sentence, and an exit code."""

from __future__ import annotations

from pathlib import Path

import pytest
from cli_kit import Run, runner  # noqa: F401 - fixtures

from penstock import UnknownQueue
from penstock.model.errors import EngineUnavailable
from penstock.ops import Ops

NOBODY = "01a1e11d-b24c-7000-8000-0c030ea86a1f"


@pytest.mark.parametrize(
    ("words", "code", "told"),
    [
        (("job", "x"), 1, "no record of job 'x'"),
        (("retry", NOBODY), 1, "no record of job"),
        (("cancel", NOBODY), 1, "no record of job"),
        (("dlq", "show", "x"), 1, "`penstock dlq` lists them"),
        (("dlq", "recover", NOBODY), 1, "no dead letter"),
        (("pause", "nope"), 2, "there are: default, email"),
        (("jobs", "--since", "5x"), 2, "write 30s, 15m, 2h or 7d"),
        (("jobs", "--since", ""), 2, "write 30s, 15m, 2h or 7d"),
        (("jobs", "--after", "x"), 2, "last id of the page before"),
        (("jobs", "--limit", "0"), 2, "--limit"),
        (("jobs", "--state", "odd"), 2, "waiting"),
        (("nosuch",), 2, "nosuch"),
        (("jobs", "--app", "nosuch:app"), 2, "no module 'nosuch'"),
        (("jobs", "--app", "nosuch.py:app"), 2, "no Python file"),
        (("jobs", "--app", "cli_shop:other"), 2, "has no 'other'"),
        (("jobs", "--app", "json:loads"), 2, "not a Penstock app"),
        (("worker", "--log-level", "loud"), 2, "debug, info, warning or error"),
        (("dlq", "recover-all", "-t", "x", "--rate", "0"), 2, "rate"),
        (("dev", "nosuch:app"), 2, "no module 'nosuch'"),
    ],
)
def test_wrong_use_is_one_sentence_on_standard_error(
    run: Run, words: tuple[str, ...], code: int, told: str
) -> None:
    said = run(*words)
    assert (said.code, said.out) == (code, "")
    assert told in said.err


def test_without_an_app_it_says_the_three_ways_to_name_one(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("PENSTOCK_APP")
    said = run("jobs")
    assert said.code == 2
    assert all(word in said.err for word in ("--app", "PENSTOCK_APP", "pyproject.toml"))


def test_an_app_that_raises_when_loaded_is_told_with_its_line(run: Run) -> None:
    Path("broken.py").write_text("x = 1\n1 / 0\n")
    said = run("jobs", "--app", "broken.py:app")
    assert said.code == 2
    assert "ZeroDivisionError: division by zero" in said.err
    assert "line 2" in said.err


def test_an_engine_that_is_away_has_a_code_of_its_own(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    async def away(*_: object) -> None:
        raise EngineUnavailable("cannot connect to [db]")

    monkeypatch.setattr(Ops, "queues", away)
    said = run("queues")
    assert said.code == 3
    assert said.err == "error EngineUnavailable: cannot connect to [db]\n"


@pytest.mark.parametrize(
    ("raised", "code"), [(KeyboardInterrupt(), 130), (ZeroDivisionError("a bug"), 70), (UnknownQueue("x"), 2)]
)
def test_whatever_is_raised_there_is_no_traceback(
    run: Run, monkeypatch: pytest.MonkeyPatch, raised: BaseException, code: int
) -> None:
    async def broken(*_: object) -> None:
        raise raised

    monkeypatch.setattr(Ops, "workers", broken)
    assert run("workers").code == code
