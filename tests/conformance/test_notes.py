"""Notes: small documents beside the jobs, by kind and key, changed by one at a time."""

from __future__ import annotations

from datetime import timedelta

import pytest

from penstock.engine import Engine, Note
from penstock.engine.notes import MAX_NOTE_BYTES
from penstock.model.errors import InvalidOption


async def keep(engine: Engine, *keys: str, kind: str = "token", ttl: float | None = None) -> None:
    for key in keys:
        assert await engine.put_note(kind, key, "{}", ttl=ttl) is not None


async def keys(engine: Engine, kind: str = "token") -> list[str]:
    return [note.key for note in await engine.notes(kind, 100)]


async def test_a_note_is_there_as_it_was_written(engine, clock):
    body = '{"who":"a\\u0000b \\"q\\" 日本","n":[1,2.5,null]}'
    assert await engine.put_note("token", "a", body) == 1
    assert await engine.put_note("token", "b", "[]", ttl=60) == 1
    now = clock.now()
    assert await engine.note("token", "a") == Note("token", "a", body, 1, now, None)
    assert await engine.note("token", "b") == Note("token", "b", "[]", 1, now, now + timedelta(seconds=60))
    assert await engine.note("token", "c") is None
    assert await engine.note("audit", "a") is None


async def test_each_change_has_the_next_version_and_its_own_time(engine, clock):
    await engine.put_note("alert", "a", "1", ttl=60)
    first = clock.now()
    clock.advance(5)
    assert await engine.put_note("alert", "a", "2") == 2
    assert await engine.note("alert", "a") == Note("alert", "a", "2", 2, first + timedelta(seconds=5), None)


async def test_who_expects_another_version_than_there_is_changes_nothing(engine):
    assert await engine.put_note("turn", "a", "1", expect=1) is None
    assert await engine.note("turn", "a") is None
    assert await engine.put_note("turn", "a", "1", expect=0) == 1
    assert await engine.put_note("turn", "a", "2", expect=0) is None
    assert await engine.put_note("turn", "a", "2", expect=2) is None
    assert (await engine.note("turn", "a")).body == "1"
    assert await engine.put_note("turn", "a", "2", expect=1) == 2
    assert await engine.put_note("turn", "a", "3", expect=1) is None
    assert (await engine.note("turn", "a")).body == "2"


async def test_a_note_past_its_time_is_as_if_it_were_not_there(engine, clock):
    await keep(engine, "a", "b", "c", ttl=10)
    await keep(engine, "d")
    clock.advance(9.999)
    assert await keys(engine) == ["a", "b", "c", "d"]
    clock.advance(0.001)
    assert await engine.note("token", "a") is None
    assert await keys(engine) == ["d"]
    assert [note.key for note in await engine.notes("token", 10, newest=True)] == ["d"]
    assert await engine.put_note("token", "a", "2", expect=1) is None
    assert await engine.put_note("token", "a", "2", expect=0) == 1
    assert await engine.put_note("token", "b", "2") == 1
    assert await engine.remove_notes("token", ["a", "c"]) == 1


async def test_tidying_removes_only_what_is_past_its_time(engine, clock):
    await keep(engine, "a", ttl=10)
    await keep(engine, "b", ttl=20)
    await keep(engine, "c", "d", ttl=5)
    await keep(engine, "c", ttl=30)
    await keep(engine, "d")
    clock.advance(10)
    await engine.tidy()
    assert await keys(engine) == ["b", "c", "d"]
    assert await engine.forget_notes("token", 0, 10) == 3


async def test_notes_are_listed_by_key_a_page_at_a_time(engine):
    names = sorted(["é", "a", "B", "a b", "a:b", "{x}", "z" * 200, "日本", "-", "\U0001f600", "0"])
    await keep(engine, *reversed(names))
    await keep(engine, "other", kind="audit")
    for newest in (False, True):
        found: list[str] = []
        while page := await engine.notes("token", 3, found[-1] if found else None, newest=newest):
            assert len(page) <= 3
            found += [note.key for note in page]
        assert found == (names[::-1] if newest else names)
    assert [note.key for note in await engine.notes("token", 2, "a!")] == names[names.index("a b") + 1 :][:2]


async def test_a_page_is_full_however_many_before_it_are_past_their_time(engine, clock):
    await keep(engine, *(f"a{n}" for n in range(20)), ttl=1)
    await keep(engine, "b", "c", "d")
    clock.advance(1)
    assert [note.key for note in await engine.notes("token", 2)] == ["b", "c"]
    assert [note.key for note in await engine.notes("token", 9, newest=True)] == ["d", "c", "b"]


async def test_removed_notes_are_gone_and_those_that_were_there_are_counted(engine):
    await keep(engine, "a", "b", "c")
    assert await engine.remove_notes("token", ["a", "c", "nobody", "a"]) == 2
    assert await keys(engine) == ["b"]
    assert await engine.remove_notes("audit", ["b"]) == 0
    assert await engine.remove_notes("token", []) == 0
    assert await engine.put_note("token", "a", "{}", expect=0) == 1


async def test_old_notes_of_a_kind_are_forgotten_in_bounded_steps(engine, clock):
    await keep(engine, "c", "a", "e", "rewritten")
    await keep(engine, "a", kind="token")
    clock.advance(100)
    await keep(engine, "d", "rewritten")
    await keep(engine, "x", kind="alert")
    clock.advance(100)
    assert await engine.forget_notes("token", 200, 10) == 0
    assert await engine.forget_notes("token", 199.9, 2) == 2
    assert await engine.forget_notes("token", 199.9, 2) == 1
    assert await engine.forget_notes("token", 199.9, 2) == 0
    assert await keys(engine) == ["d", "rewritten"]
    assert await keys(engine, "alert") == ["x"]


async def test_the_largest_and_the_longest_are_kept(engine):
    body = '"' + "x" * (MAX_NOTE_BYTES - 2) + '"'
    kind, key = "x" * 40, "日" * 200
    assert await engine.put_note(kind, key, body) == 1
    assert (await engine.note(kind, key)).body == body


async def test_what_cannot_be_kept_by_every_engine_is_refused_by_each(engine):
    for refused in (
        engine.put_note("Token", "k", "{}"),
        engine.put_note("token", "a\0b", "{}"),
        engine.put_note("token", "k", "{"),
        engine.put_note("token", "k", "{}", ttl=0),
        engine.put_note("token", "k", "{}", expect=-1),
        engine.note("token", ""),
        engine.notes("Token", 1),
        engine.notes("token", 1, "a\0b"),
        engine.remove_notes("token", ["a\0"]),
        engine.forget_notes("T", 1, 1),
    ):
        with pytest.raises(InvalidOption):
            await refused
    assert await keys(engine) == []
