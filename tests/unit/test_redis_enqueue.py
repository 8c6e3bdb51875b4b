"""Jobs on their way into Redis: what is sent for them, by the layout that `_group.lua` tells."""

from __future__ import annotations

import itertools

import pytest

from penstock.engines.redis.address import read_url
from penstock.engines.redis.codec import raw_id
from penstock.engines.redis.connector import Connector
from penstock.engines.redis.enqueue import Alone, arguments
from penstock.engines.redis.server import Server
from penstock.model.job import NewJob
from penstock.tasks.ids import new_id

HEAD = 6  # words before the jobs of a group: how many, kind, lane, delay, head start, extras


def job(**more: object) -> NewJob:
    job_id = new_id()
    return NewJob(job_id, "mail", "send", **{"key": job_id, "args": '{"n":1}', **more})


@pytest.mark.parametrize("args", ["{}", '{"to":"Zoë 🚰"}', '{"a":"\\r\\n$3"}'])
@pytest.mark.parametrize("more", [{}, {"delay": 1.5}, {"priority": 1}, {"max_attempts": 9}])
async def test_one_plain_job_is_sent_as_any_other_call_is(args, more):
    server = Server(Connector(read_url("redis://localhost")), b"{penstock}:")
    alone = Alone(server)
    for each in (job(args=args, **more), job(args=args, **more)):
        assert alone.call(each) == server.call("enqueue", b"", *arguments([each]))


def ids_of(words: list[bytes]) -> list[list[bytes]]:
    """Group by group."""
    groups, at = [], 0
    while at < len(words):
        size, each = int(words[at]), 2 + len(words[at + HEAD - 1])
        at += HEAD
        groups.append([words[at + n * each] for n in range(size)])
        at += size * each
    return groups


def test_jobs_keep_their_order_whichever_of_them_share_a_group():
    plain, owned, keyed = {}, {"owner": "ana"}, {"key": "k", "unique": True}
    kinds = (plain, owned, keyed, {"delay": 1.0}, {"key": "k"})
    for shape in itertools.product(kinds, repeat=4):
        jobs = [job(**each) for each in shape]
        assert list(itertools.chain(*ids_of(arguments(jobs)))) == [raw_id(each.id) for each in jobs]


def test_neighbours_share_a_group_where_only_what_is_their_own_differs():
    def sizes(*shape: dict[str, object]) -> list[int]:
        return [len(group) for group in ids_of(arguments([job(**each) for each in shape]))]

    assert sizes({}, {"args": "{}"}, {}) == [3]
    assert sizes({"owner": "ana"}, {"owner": "bo"}) == [2]
    assert sizes({"key": "a", "unique": True}, {"key": "b", "unique": True}) == [2]
    assert sizes({}, {"key": "given"}, {}) == [1, 1, 1]
    assert sizes({}, {"delay": 1.0}, {"delay": 2.0}) == [1, 1, 1]
