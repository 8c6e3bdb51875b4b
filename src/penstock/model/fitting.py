"""An error record within the bytes it may take: what lies behind an error is left out before its own."""

from __future__ import annotations

import json
from typing import Any

from penstock.model.failure import shorten

MAX_RECORD = 7_900  # bytes of JSON text, so that it has at most 8 kB with the time that the engine adds
NAME = 300  # bytes kept of a type or code
NOTE = 500
MESSAGE = 2_500
FARTHER = 400  # of the message of a cause, and of a line that was logged, where not all of it can be kept
BEHIND = 1_600  # kept free of the traceback for what lies behind it and what was logged, if there is so much

Record = dict[str, Any]


def fitted(record: Record) -> str:
    """The record as JSON text, shortened where it is too large. Both ends of each text are kept."""
    text = written(record)
    return text if _bytes(text) <= MAX_RECORD else written(_fitted(record))


def written(value: object) -> str:
    return json.dumps(value, ensure_ascii=False)


def _fitted(record: Record) -> Record:
    causes, log = record.get("causes", ()), record.get("log", ())
    fitting = {name: value for name, value in record.items() if name not in ("causes", "log")}
    fitting |= _cut(fitting, type=NAME, code=NAME, message=MESSAGE, note=NOTE)
    behind = sum(_size(each) for each in (causes, log))
    others = _size(fitting | {"traceback": None, "causes": [], "log": []})
    fitting |= _cut(fitting, traceback=MAX_RECORD - others - min(behind, BEHIND))
    room = MAX_RECORD - _size(fitting | {"causes": [], "log": []})
    if kept := _nearest(causes, max(room // 2, room - _size(log))):
        fitting["causes"] = kept
        room -= _size(kept)
    if kept := _latest(log, room):
        fitting["log"] = kept
    return fitting


def _nearest(causes: tuple[Record, ...], room: int) -> list[Record]:
    """Without their tracebacks, and with less of their messages, rather than not at all."""
    kept: list[Record] = []
    for cause in causes:
        less = cause | _cut(cause, type=NAME // 2, message=FARTHER) | {"traceback": ""}
        if _size([*kept, less]) > room:
            break
        kept.append(less)
    for place, cause in enumerate(causes[: len(kept)]):
        whole = [*kept[:place], cause, *kept[place + 1 :]]
        if _size(whole) <= room:
            kept = whole
    return kept


def _latest(log: tuple[dict[str, str], ...], room: int) -> list[dict[str, str]]:
    kept: list[dict[str, str]] = []
    for each in reversed(log):
        line = each | _cut(each, text=FARTHER)
        if _size([line, *kept]) > room:
            break
        kept.insert(0, line)
    return kept


def _cut(record: Record, **limits: int) -> Record:
    """These of its texts, each within so many bytes."""
    texts = {name: (record.get(name), limit) for name, limit in limits.items()}
    return {name: _within(text, limit) for name, (text, limit) in texts.items() if text}


def _within(text: str, limit: int) -> str:
    """As much of both ends as fits: halved, because nobody knows how many bytes each character takes."""
    if _size(text) <= limit:
        return text
    fits, too_many = 0, len(text)
    while too_many - fits > 1:
        middle = (fits + too_many) // 2
        if _size(shorten(text, middle)) <= limit:
            fits = middle
        else:
            too_many = middle
    return shorten(text, fits)


def _size(value: object) -> int:
    return _bytes(written(value))


def _bytes(text: str) -> int:
    return len(text) if text.isascii() else len(text.encode(errors="surrogatepass"))
