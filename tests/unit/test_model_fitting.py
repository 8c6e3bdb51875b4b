"""An error record has at most 8 kB, whatever the language and however much lies behind the error."""

import json

import pytest

from penstock.model.decide import Facts, decide, end_of
from penstock.model.failure import Failure
from penstock.model.fitting import MAX_RECORD
from penstock.model.outcome import error_record
from penstock.model.retry import Retry

LETTERS = {"ascii": "x", "cjk": "日", "emoji": "🐟", "escaped": "\x01", "quotes": '"', "mixed": 'aé日🐟"\n'}
WORKER = "0190f5c3-7d4b-7c3a-9d43-5f1d2c3b4a59"

letters = pytest.mark.parametrize("letter", LETTERS.values(), ids=LETTERS.keys())


def chained(causes: int, text: str) -> BaseException:
    try:
        try:
            if causes:
                raise chained(causes - 1, text)
        except RuntimeError as error:
            raise RuntimeError(f"{causes} began {text} ended") from error
        raise RuntimeError(f"{causes} began {text} ended")
    except RuntimeError as error:
        return error


def record_of(error: BaseException, log: tuple[dict[str, str], ...] = ()) -> dict:
    run = Facts(attempt=1, max_attempts=3, crashes=0, ran_for=1.0, worker=WORKER, chance=0.5, log=log)
    text = decide(run, end_of(error, Retry()), Retry()).error
    assert len(text.encode()) <= MAX_RECORD
    return json.loads(text)


def lines(many: int, text: str) -> tuple[dict[str, str], ...]:
    return tuple(
        {"at": "2026-01-05T12:00:00.000+00:00", "level": "info", "text": f"{n} {text}"} for n in range(many)
    )


@letters
@pytest.mark.parametrize("causes", [0, 1, 8, 20])
@pytest.mark.parametrize("length", [10, 500, 100_000])
def test_an_error_record_is_bounded_in_bytes(letter, causes, length):
    record = record_of(chained(causes, letter * length), lines(20, letter * 400))
    assert record["type"] == "RuntimeError"
    assert record["message"].startswith(f"{causes} began")
    assert record["message"].endswith("ended")
    assert "in chained" in record["traceback"]
    assert record["log"][-1]["text"].startswith("19 ")
    assert bool(record.get("causes")) is bool(causes)


@letters
def test_every_part_at_its_largest_fits(letter):
    causes = tuple(
        {"how": "cause", "type": letter * 100, "message": letter * 520, "traceback": letter * 1_520}
        for _ in range(8)
    )
    failure = Failure(
        letter * 120,
        letter * 2_020,
        letter * 120,
        traceback=letter * 6_020,
        note=letter * 3_000,
        causes=causes,
    )
    text = error_record(failure, 10**6, 10.0**9, WORKER, lines(20, letter * 500))
    assert len(text.encode()) <= MAX_RECORD
    record = json.loads(text)
    for part in ("type", "message", "code", "traceback", "note"):
        assert record[part].startswith(letter[0])
        assert record[part].endswith(letter[-1])
        assert set(record[part]) <= set(letter + " … [0123456789 cut]")
    assert record["causes"][0]["how"] == "cause"


def test_what_fits_is_kept_as_it_is():
    record = record_of(chained(2, "日" * 100), lines(3, "on the way"))
    assert [cause["message"].split()[0] for cause in record["causes"]] == ["1", "0"]
    assert all("in chained" in cause["traceback"] for cause in record["causes"])
    assert len(record["log"]) == 3
    assert record["message"] == f"2 began {'日' * 100} ended"


def test_what_lies_behind_goes_first_the_farthest_before_the_nearest_and_tracebacks_before_messages():
    record = record_of(chained(8, "x" * 1_800))
    assert record["message"] == f"8 began {'x' * 1_800} ended"
    messages = [cause["message"].split()[0] for cause in record["causes"]]
    assert messages == [str(n) for n in range(7, -1, -1)]
    kept = [bool(cause["traceback"]) for cause in record["causes"]]
    assert kept == sorted(kept, reverse=True)
    assert kept[0]
    assert not kept[-1]


def test_how_much_was_cut_is_told_of_the_whole_text():
    record = record_of(ValueError("日" * 9_000), lines(20, "x" * 400))
    head, _, tail = record["message"].partition(" … [")
    number, _, tail = tail.partition(" cut] … ")
    assert len(head) + int(number) + len(tail) == 9_000
