"""Statements that begin or end a transaction are known by their text, and by nothing that only looks so."""

from __future__ import annotations

import pytest

from penstock.engines.postgres.endings import ending_in


@pytest.mark.parametrize(
    "text",
    [
        "commit",
        "  Commit work and chain",
        "END;",
        "abort",
        "begin isolation level serializable",
        "start transaction",
        "prepare transaction 'a'",
        "rollback",
        "rollback work",
        "rollback and no chain",
        "insert into a values ('it''s'); commit",
        "insert into a values ($$;$$);commit",
        "insert into a values (E'\\';'); commit",
        "/* a /* b */ c */ commit",
        "-- why\ncommit",
        'select "a"";b"; rollback',
    ],
)
def test_what_ends_a_transaction_is_found(text: str) -> None:
    assert ending_in(text) is not None


@pytest.mark.parametrize(
    "text",
    [
        "rollback to a",
        "rollback work to savepoint a",
        "savepoint commit",
        "release begin",
        "prepare a as select 1",
        "select 'x; commit'",
        "select $a$; commit;$a$",
        "select E'\\'; commit'",
        'select ";commit"',
        "select 1 /* ; commit */ -- ; commit",
        "select case when true then 1 end",
        "do $$ begin perform 1; end $$",
        "create function f() returns int begin atomic select 1; select 2; end",
        "update endings set commit = 1",
        "",
    ],
)
def test_what_only_looks_so_is_let_through(text: str) -> None:
    assert ending_in(text) is None
