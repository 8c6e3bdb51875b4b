"""Streams over real HTTP: to whom they are open, what they tell, and how they end."""

from __future__ import annotations

import asyncio
import logging
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from conformance.kit import make_id
from feed.kit import PATIENCE, an_event, some_events
from feed.web_kit import READ, House, open_house, rest, stream, until
from penstock import EngineUnavailable, Penstock
from penstock.feed.subscription import MAX_BUFFERED, Subscription
from penstock.web import Limits, Principal, make_service
from penstock.web.seats import Seats


@pytest.fixture(name="house")
async def opened_house(tmp_path: Any) -> AsyncIterator[House]:
    async with open_house(f"sqlite:///{tmp_path}/jobs.db") as house:
        yield house


async def settled(frames: Any) -> str:
    """From here on nothing can be missed."""
    place = (await until(frames, "resync"))[-1].id
    assert place is not None
    return place


async def test_a_stream_tells_what_happens_and_goes_on_where_it_ended(house: House) -> None:
    async with stream(house.client("root"), "/events") as frames:
        await settled(frames)
        await house.app.engine.publish(some_events(1, 2))
        first, second = await anext(frames), await anext(frames)
        assert (first.event, first.data["n"], second.data["n"]) == ("progress", 1, 2)
    client = house.client("root", **{"Last-Event-ID": first.id or ""})
    async with stream(client, "/events") as frames:
        ready, again = await anext(frames), await anext(frames)
        assert (ready.event, again) == ("ready", second)


async def test_of_other_owners_jobs_a_stream_tells_nothing(house: House) -> None:
    async with stream(house.client("ana"), "/events") as frames:
        await settled(frames)
        mine, other = some_events(1, owner="ana"), some_events(2, owner="bob")
        await house.app.engine.publish([*other, *some_events(3), *mine])
        assert (await anext(frames)).data["n"] == 1


async def test_a_filter_of_the_query_is_heeded(house: House) -> None:
    path = "/events?event=started&event=completed&owner=bob&queue=default"
    async with stream(house.client("root"), path) as frames:
        await settled(frames)
        event = an_event(1, owner="bob")
        await house.app.engine.publish([event, event._replace(event="completed", owner="ana")])
        await house.app.engine.publish([event._replace(event="completed")])
        assert (await anext(frames)).data["owner"] == "bob"


@pytest.mark.parametrize(
    ("person", "path", "headers", "status"),
    [
        (None, "/events", {}, 401),
        ("nobody", "/events", {}, 401),
        ("ana", "/events?owner=bob", {}, 403),
        ("root", "/events", {"Origin": "https://evil.example"}, 403),
        ("root", "/events", {"Origin": "null"}, 403),
        ("root", "/events", {"Transfer-Encoding": "chunked"}, 400),
        ("root", "/events", {"Sec-Fetch-Site": "cross-site"}, 403),
        ("root", "/jobs/nothing/events", {}, 404),
        (None, "/jobs/nothing/events", {}, 401),
        (None, "/jobs/nothing/events?token=psf_nothing.9999999999.00", {}, 401),
        (None, "/jobs/nothing/events", {"Authorization": "Bearer psf_x"}, 401),
    ],
)
async def test_who_may_not_listen_gets_no_stream(
    house: House, person: str | None, path: str, headers: dict[str, str], status: int
) -> None:
    async with house.client(person, **headers) as client:
        assert (await client.get(path)).status_code == status


async def test_a_stream_that_cannot_begin_is_refused_and_may_be_tried_again(
    house: House, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    @asynccontextmanager
    async def away(*_: object) -> AsyncIterator[Subscription]:
        raise EngineUnavailable("gone just now")
        yield

    monkeypatch.setattr(house.app.feed, "subscribe", away)
    async with house.client("root") as client:
        answer = await client.get("/events")
    assert (answer.status_code, answer.json()["error"]["code"]) == (503, "unavailable")
    assert answer.headers["retry-after"]
    assert "answered 503: EngineUnavailable" in caplog.text


async def test_who_sends_a_body_gets_no_stream(house: House) -> None:
    async with house.client("root") as client:
        assert (await client.request("GET", "/events", content=b"hello")).status_code == 400


async def test_a_page_of_the_same_host_may_listen(house: House) -> None:
    client = house.client("root", Origin=f"http://{house.host}")
    async with stream(client, "/events") as frames:
        assert (await anext(frames)).event == "ready"


async def test_a_job_of_somebody_else_is_as_if_it_were_not(house: House) -> None:
    job = await house.app.tasks["wait"].using(owner="ana").aenqueue()
    async with house.client("bob") as client:
        foreign = await client.get(f"/jobs/{job.id}/events")
        unknown = await client.get(f"/jobs/{make_id()}/events")
    assert (
        (foreign.status_code, foreign.content)
        == (unknown.status_code, unknown.content)
        == (404, unknown.content)
    )


async def test_a_job_is_followed_to_its_end_and_then_there_is_nothing_more(house: House) -> None:
    job = await house.app.tasks["wait"].using(owner="ana").aenqueue()
    async with stream(house.client("ana"), f"/jobs/{job.id}/events") as frames:
        assert (await until(frames, "state"))[-1].data == {"job_id": job.id, "status": "pending"}
        working = asyncio.create_task(house.app.worker().run(burst=True))
        await until(frames, "progress")
        house.go.set()
        told = await rest(frames)
        await working
    assert [each.event for each in told if each.event != "resync"] == ["completed", "state"]
    assert (told[-1].data["status"], told[-1].id) == ("completed", "end")
    async with house.client("ana", **{"Last-Event-ID": "end"}) as client:
        assert (await client.get(f"/jobs/{job.id}/events")).status_code == 204


async def test_the_end_of_a_job_is_told_also_where_the_feed_missed_it(
    house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("penstock.web.following.LOOK_AGAIN", (0.1,))
    job = await house.app.tasks["wait"].aenqueue()
    async with stream(house.client("root"), f"/jobs/{job.id}/events") as frames:
        await until(frames, "state")
        await house.app.ops.cancel(job.id)
        assert (await rest(frames))[-1].data["status"] == "cancelled"


@pytest.mark.parametrize("way", ["query", "header"])
async def test_a_follow_token_opens_its_job_and_is_in_no_log(
    house: House, way: str, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    logging.getLogger("uvicorn.access").addHandler(caplog.handler)
    job, other = [await house.app.tasks["wait"].using(owner="ana").aenqueue() for _ in range(2)]
    token = await house.app.feed.tokens.make(job.id)
    given = (
        {"params": {"token": token}} if way == "query" else {"headers": {"Authorization": f"Bearer {token}"}}
    )
    async with stream(house.client(), f"/jobs/{job.id}/events", **given) as frames:
        assert (await until(frames, "state"))[-1].data["status"] == "pending"
    async with house.client() as client:
        assert (await client.get(f"/jobs/{other.id}/events", **given)).status_code == 401
        assert (await client.get("/events", **given)).status_code == 401
    served = [record.getMessage() for record in caplog.records if record.name == "uvicorn.access"]
    logging.getLogger("uvicorn.access").removeHandler(caplog.handler)
    assert any(job.id in line for line in served)
    assert not any(token[-64:] in line for line in served if job.id in line.partition("?")[0])


async def test_a_stream_ends_with_the_token_that_opened_it(house: House) -> None:
    job = await house.app.tasks["wait"].aenqueue()
    token = await house.app.feed.tokens.make(job.id, ttl=2)
    async with stream(house.client(), f"/jobs/{job.id}/events?token={token}") as frames:
        assert "completed" not in {each.event for each in await rest(frames)}


async def test_who_loses_the_right_loses_the_stream_within_five_seconds(house: House) -> None:
    async with stream(house.client("ana"), "/events") as frames:
        await settled(frames)
        del house.people["ana"]
        async with asyncio.timeout(5):
            assert await rest(frames) == []


async def test_a_client_that_does_not_read_is_cut_and_forgotten(
    house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("penstock.web.stream.PATIENCE", 0.5)
    with deaf(house) as client:
        await wait_for(lambda: house.app.feed.listeners == 1)
        body = '{"n":"' + "x" * 4_000 + '"}'
        async with asyncio.timeout(PATIENCE):
            while house.app.feed.listeners:
                await house.app.engine.publish([an_event(0)._replace(body=body) for _ in range(200)])
                await asyncio.sleep(0.05)
        assert client.fileno() >= 0


def deaf(house: House) -> socket.socket:
    """A client that asks for a stream, and reads nothing of it."""
    client = socket.socket()
    client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4_096)
    host, _, port = house.host.partition(":")
    client.connect((host, int(port)))
    client.sendall(f"GET /events HTTP/1.1\r\nHost: {house.host}\r\nX-Person: root\r\n\r\n".encode())
    return client


async def test_a_client_that_goes_leaves_nothing_behind(house: House) -> None:
    async with stream(house.client("root"), "/events") as frames:
        await anext(frames)
        assert house.app.feed.listeners == 1
    await wait_for(lambda: house.app.feed.listeners == 0)


async def test_a_stream_ends_where_the_client_cannot_be_heard_any_more(tmp_path: Any) -> None:
    app = Penstock(f"sqlite:///{tmp_path}/jobs.db")
    all_of_it = Principal(name="root", scopes=READ, all_owners=True)
    service = make_service(app, auth=lambda _: all_of_it, limits=Limits(body_seconds=0.1))
    path = {"path": "/events", "raw_path": b"/events", "query_string": b"", "headers": []}
    sent: list[Any] = []

    async def never() -> Any:
        await asyncio.Event().wait()

    async def send(message: Any) -> None:
        sent.append(message)

    async with app, asyncio.timeout(PATIENCE):
        await service({"type": "http", "method": "GET", "client": ("10.0.0.1", 1), **path}, never, send)
        assert app.feed.listeners == 0
    assert sent[0]["status"] == 200


async def test_streams_are_bounded_for_each_who_listens_and_in_all(house: House) -> None:
    service: Any = house.server.config.app
    service.state.doorway.seats = Seats(2, 3)

    async def one_more(person: str) -> int:
        async with house.client(person) as client, client.stream("GET", "/events") as answer:
            return answer.status_code

    async with stream(house.client("ana"), "/events"), stream(house.client("ana"), "/events"):
        assert (await one_more("ana"), await one_more("bob")) == (429, 200)
        await wait_for(lambda: house.app.feed.listeners == 2)
        async with stream(house.client("bob"), "/events"):
            assert await one_more("root") == 429
    await wait_for(lambda: house.app.feed.listeners == 0)
    assert await one_more("ana") == 200


async def wait_for(true: Any) -> None:
    async with asyncio.timeout(PATIENCE):
        while not true():
            await asyncio.sleep(0.01)


async def test_a_slow_client_is_told_to_look_and_its_stream_ends(house: House) -> None:
    async with stream(house.client("root"), "/events") as frames:
        await settled(frames)
        [listener] = house.app.feed._others
        listener._buffer.extend([None] * MAX_BUFFERED)  # type: ignore[list-item]  # as if nothing was taken
        await house.app.engine.publish(some_events(1))
        told = await rest(frames)
        assert [(each.event, each.data) for each in told] == [("resync", {"reason": "slow"})]


async def test_streams_do_not_keep_a_server_that_is_told_to_stop(tmp_path: Any) -> None:
    async with open_house(f"sqlite:///{tmp_path}/jobs.db") as house:
        client = house.client("root")
        async with client, client.stream("GET", "/events") as response:
            assert response.status_code == 200
            house.server.should_exit = True
            async with asyncio.timeout(5):
                await response.aread()


async def test_a_stream_of_no_time_tells_what_there_is_and_ends(house: House) -> None:
    async with stream(house.client("root"), "/events?seconds=0") as frames:
        assert [each.event for each in await rest(frames)] == ["ready"]


async def test_who_enqueues_gets_a_token_to_follow_the_job(house: House) -> None:
    async with house.client("ana") as client:
        answer = (await client.post("/jobs/default", json={"task": "wait", "payload": {}})).json()
    path = f"/jobs/{answer['job_id']}/events?seconds=0&token={answer['follow']}"
    async with stream(house.client(), path) as frames:
        assert (await rest(frames))[-1].data["status"] == "pending"
