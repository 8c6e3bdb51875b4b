"""Lists for people: fixed fragments chosen by the filter, values bound, a page at a time."""

from __future__ import annotations

import re
from typing import Any

from penstock.engine import NOT_READ, DeadFilter, EffectFilter, EffectName, HistoryFilter, JobFilter
from penstock.engines.postgres.database import Call
from penstock.model.ids import id_range, is_id
from penstock.model.states import State, Status

_EQUAL = ("queue", "task", "owner")
_EQUAL_DEAD = ("queue", "task", "owner", "reason")
_PAYLOAD = re.compile(r"\bargs(?: as (\w+))?,")


def job_page(sql: str, where: JobFilter, limit: int, after: str | None, *, ids_tell_time: bool) -> Call:
    """The statement for one page of jobs."""
    values = {name: getattr(where, name) for name in _EQUAL}
    values |= _page_values(where, limit, after, ids_tell_time=ids_tell_time)
    terms = _job_terms(values, where.state)
    unfinished = [*terms, *_parked_terms(where.parked)]
    finished = [*terms, *(["false"] if where.parked else [])]
    if where.state is not None:
        (unfinished if where.state.finished else finished).append("false")
    text = (
        _columns(sql, where)
        .replace("{unfinished_where}", _all_of(unfinished))
        .replace("{finished_where}", _all_of(finished))
    )
    return Call(text, values)


def history_page(
    sql: str, where: HistoryFilter, limit: int, after: str | None, *, ids_tell_time: bool
) -> Call:
    """The statement for one page of the jobs that have ended."""
    values: dict[str, Any] = {name: getattr(where, name) for name in _EQUAL}
    values |= _page_values(where, limit, after, ids_tell_time=ids_tell_time)
    return Call(_columns(sql, where).replace("{where}", _all_of(_job_terms(values, where.status))), values)


def one_record(sql: str, job_id: str) -> Call:
    """The statement for one job that has ended."""
    return Call(sql.replace("{where}", "id = %(id)s::uuid"), {"id": job_id, "limit": 1})


def dead_page(sql: str, where: DeadFilter, limit: int, after: str | None) -> Call:
    """The statement for one page of dead letters."""
    values: dict[str, Any] = {"limit": limit, "after": after, "since": where.since, "until": where.until}
    values |= {name: getattr(where, name) for name in _EQUAL_DEAD}
    terms = [f"{name} = %({name})s" for name in _EQUAL_DEAD if values[name] is not None]
    terms += _page_terms("job_id", "failed_at", values)
    if not where.recovered:
        terms.append("recovered_as is null")
    return Call(_columns(sql, where).replace("{where}", _all_of(terms)), values)


def _columns(sql: str, where: JobFilter | HistoryFilter | DeadFilter) -> str:
    """The statement, without the column of the payload where it is not asked for."""
    if where.payloads:
        return sql
    return _PAYLOAD.sub(lambda found: f"'{NOT_READ}' as {found[1] or 'args'},", sql)


def _page_values(
    where: JobFilter | HistoryFilter, limit: int, after: str | None, *, ids_tell_time: bool
) -> dict[str, Any]:
    first, beyond = id_range(where.since, where.until) if ids_tell_time else (None, None)
    page = {"limit": limit, "after": after, "key": where.key, "first": first, "beyond": beyond}
    return page | {"since": where.since, "until": where.until}


def _job_terms(values: dict[str, Any], state: State | Status | None) -> list[str]:
    terms = [f"{name} = %({name})s" for name in _EQUAL if values[name] is not None]
    # Written out: a plan that is made for any state knows of no index on the jobs of one.
    terms += [f"state = '{state.value}'"] if state is not None else []
    terms += _key_terms(values["key"]) + _page_terms("id", "created_at", values)
    terms += ["id >= %(first)s::uuid"] if values["first"] else []
    terms += ["id < %(beyond)s::uuid"] if values["beyond"] else []
    return terms


def effect_page(sql: str, where: EffectFilter, limit: int, after: EffectName | None) -> Call:
    """The statement for one page of effects."""
    names = {name: getattr(where, name) for name in EffectName._fields}
    terms = [f"{name} = %({name})s" for name, value in names.items() if value is not None]
    values: dict[str, Any] = {**names, "limit": limit}
    if after is not None:
        terms.append("(task, key, name) > (%(after_task)s, %(after_key)s, %(after_name)s)")
        values |= {f"after_{name}": value for name, value in after._asdict().items()}
    return Call(sql.replace("{where}", _all_of(terms)), values)


def _page_terms(id_column: str, time_column: str, values: dict[str, Any]) -> list[str]:
    terms = [f"{id_column} < %(after)s::uuid"] if values["after"] is not None else []
    terms += [f"{time_column} >= %(since)s"] if values["since"] is not None else []
    terms += [f"{time_column} < %(until)s"] if values["until"] is not None else []
    return terms


def _key_terms(key: str | None) -> list[str]:
    if key is None:
        return []
    minted = " or (key is null and id = %(key)s::uuid)" if is_id(key) else ""
    return [f"(key = %(key)s{minted})"]


def _parked_terms(parked: bool | None) -> list[str]:
    if parked is None:
        return []
    return [
        "state = 'waiting' and strpos(lane, '?') > 0"
        if parked
        else "not (state = 'waiting' and strpos(lane, '?') > 0)"
    ]


def _all_of(terms: list[str]) -> str:
    return " and ".join(terms) or "true"
