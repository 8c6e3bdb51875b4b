"""Declaring queues and tasks: options go by the nearest, and what cannot be is refused with the next step."""

from __future__ import annotations

from datetime import timedelta
from enum import IntEnum

import pytest

from penstock import Context, InvalidOption, Penstock, Priority, Retry, UnknownQueue, UnknownTask
from penstock.model.retry import POLICIES, Strategy
from penstock.tasks.declared import Execute


@pytest.fixture
def app() -> Penstock:
    return Penstock("sqlite://:memory:")


def test_a_bare_task_takes_everything_from_the_default_queue(app: Penstock) -> None:
    @app.task
    def resize(path: str) -> None:
        """Make it smaller.

        And say nothing.
        """

    assert resize.name == "resize"
    assert resize.queue == "default"
    assert resize.declared.description == "Make it smaller."
    assert resize.retry == Retry(3, 5.0)
    assert resize.timeout == 300
    assert resize.execute is Execute.THREAD
    assert resize.declared.priority is Priority.MEDIUM
    assert app.tasks["resize"] is resize


def test_the_nearest_option_wins(app: Penstock) -> None:
    app.queue("slow", retry="webhook", timeout=timedelta(minutes=1), priority="low")

    @app.task(queue="slow")
    async def inherits() -> None: ...

    @app.task(queue="slow", retry="database", timeout=None, priority=1, execute="process")
    async def chooses() -> None: ...

    assert (inherits.retry, inherits.timeout) == (POLICIES["webhook"], 60)
    assert inherits.declared.priority is Priority.LOW
    assert inherits.execute is Execute.ASYNC
    assert (chooses.retry, chooses.timeout) == (POLICIES["database"], None)
    assert chooses.declared.priority is Priority.CRITICAL
    assert chooses.execute is Execute.PROCESS

    job = chooses.using(retry="none", timeout=5, priority="high").call().job
    assert (job.max_attempts, job.priority) == (1, Priority.HIGH)
    assert chooses.policy_for(job.options) == POLICIES["none"]
    assert chooses.timeout_for(job.options) == 5
    assert chooses.policy_for(None) == POLICIES["database"]


class Tries(IntEnum):
    FOUR = 4


def test_a_number_changes_the_attempts_and_keeps_the_rest_of_the_policy(app: Penstock) -> None:
    app.queue("hooks", retry="webhook")
    app.queue("once", retry="none")

    @app.task(queue="hooks", retry=9)
    def nine() -> None: ...

    @app.task(queue="once", retry=2)
    def two() -> None: ...

    assert nine.retry == POLICIES["webhook"].with_attempts(9)
    assert two.retry == Retry(2)
    job = nine.using(retry=Tries.FOUR).call().job  # which is a 4, and stored as one
    assert job.max_attempts == 4
    assert nine.policy_for(job.options) == POLICIES["webhook"].with_attempts(4)


def test_options_may_be_given_in_steps(app: Penstock) -> None:
    quick = app.task(timeout=1)

    @quick(retry="none")
    def one() -> None: ...

    @quick
    def two() -> None: ...

    assert (one.timeout, one.retry.strategy) == (1, Strategy.NONE)
    assert (two.timeout, two.retry.attempts) == (1, 3)


def test_calling_a_task_runs_its_function_in_place(app: Penstock) -> None:
    @app.task
    def double(x: int) -> int:
        return 2 * x

    assert double(4) == 8


async def test_calling_an_async_task_passes_the_context_through(app: Penstock) -> None:
    @app.task
    async def echo(ctx: Context, x: int) -> tuple[Context, int]:
        return ctx, x

    ctx = Context(None)
    assert await echo(ctx, x=4) == (ctx, 4)


def test_a_queue_declared_twice_in_the_same_way_is_one_queue(app: Penstock) -> None:
    assert app.queue("email", concurrency=3) is app.queue("email", concurrency=3)
    with pytest.raises(InvalidOption, match="with other options"):
        app.queue("email", concurrency=4)


def test_the_default_queue_may_be_declared_before_its_tasks(app: Penstock) -> None:
    app.queue("default", concurrency=2)
    with pytest.raises(InvalidOption, match="with other options"):
        app.queue("default", concurrency=3)


def test_a_queue_cannot_change_under_its_tasks(app: Penstock) -> None:
    @app.task
    def early() -> None: ...

    with pytest.raises(InvalidOption, match="before task 'early'"):
        app.queue("default", concurrency=2)


def test_an_undeclared_queue_is_refused_with_the_next_step(app: Penstock) -> None:
    app.queue("email")
    with pytest.raises(UnknownQueue, match=r"app\.queue\('emial'\).*did you mean 'email'\?"):

        @app.task(queue="emial")
        def send() -> None: ...

    assert not app.tasks


def test_unknown_names_suggest_close_ones(app: Penstock) -> None:
    @app.task
    def send_receipt() -> None: ...

    with pytest.raises(UnknownTask, match="did you mean 'send_receipt'"):
        app.call_by_name("send_reciept", {})
    with pytest.raises(UnknownTask, match="the tasks are send_receipt"):
        app.registry.task("zzz")
    with pytest.raises(UnknownQueue, match="the queues are default"):
        app.registry.queue("zzz")
    assert app.registry.get("zzz") is None


def test_task_names_are_unique_and_valid(app: Penstock) -> None:
    @app.task(name="mail.send-now")
    def one() -> None: ...

    with pytest.raises(InvalidOption, match="registered already"):
        app.task(name="mail.send-now")(one.fn)
    with pytest.raises(InvalidOption, match="not allowed"):
        app.task(name="mail send")(one.fn)
    with pytest.raises(InvalidOption, match="needs name="):
        app.task(lambda: None)


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"execute": "fibre"}, "use 'async', 'thread' or 'process'"),
        ({"execute": "async"}, "a sync function"),
        ({"timeout": 0}, "None for no limit"),
        ({"timeout": -1}, "from 0 up"),
        ({"timeout": "soon"}, "seconds or a timedelta"),
        ({"retry": "sometimes"}, "unknown retry policy"),
        ({"priority": "urgent"}, "unknown priority"),
        ({"expire_after": True}, "seconds or a timedelta"),
        ({"classify": "rule"}, "takes a function"),
        ({"enabled": "yes"}, "a bool or a function"),
        ({"when_disabled": "drop"}, "'refuse' or 'park'"),
        ({"key": "receipt:{order}"}, "{order_id}"),
        ({"key": "receipt:{order_id.x}"}, "{order_id}"),
        ({"key": "receipt:{order_id!r}"}, "{order_id}"),
        ({"key": "receipt:{order_id"}, "cannot be read"),
        ({"key": ""}, "empty"),
        ({"tiemout": 3}, "there is timeout"),
    ],
)
def test_an_option_that_cannot_be_is_refused(app: Penstock, options: dict[str, object], told: str) -> None:
    def handler(order_id: int) -> None: ...

    with pytest.raises(InvalidOption, match=told):
        app.task(**options)(handler)
    assert not app.tasks


def test_an_async_function_does_not_run_in_a_thread(app: Penstock) -> None:
    async def handler() -> None: ...

    with pytest.raises(InvalidOption, match="an async function"):
        app.task(execute="thread")(handler)


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"concurrency": 0}, "from 1 up"),
        ({"concurrency": True}, "from 1 up"),
        ({"keep_completed": -1}, "from 0 up"),
        ({"keep_for": -1}, "from 0 up"),
        ({"timeout": 0}, "None for no limit"),
        ({"when_disabled": "drop"}, "'refuse' or 'park'"),
    ],
)
def test_a_queue_option_that_cannot_be_is_refused(
    app: Penstock, options: dict[str, object], told: str
) -> None:
    with pytest.raises(InvalidOption, match=told):
        app.queue("email", **options)
    assert set(app.queues) == {"default"}


def test_a_queue_keeps_by_count_and_age_unless_told_otherwise(app: Penstock) -> None:
    default = app.queues["default"].retention
    assert (default.keep_completed, default.keep_failed, default.max_age) == (1_000, 5_000, 86_400)
    kept = app.queue("all", keep_completed=None, keep_failed=7, keep_for=timedelta(hours=1)).retention
    assert (kept.keep_completed, kept.keep_failed, kept.max_age) == (None, 7, 3_600)


def test_using_refuses_what_cannot_travel(app: Penstock) -> None:
    @app.task
    def job() -> None: ...

    with pytest.raises(InvalidOption, match="exception type ValueError"):
        job.using(retry=Retry(retry_on=(ValueError,)))
    with pytest.raises(InvalidOption, match="from 0 up"):
        job.using(delay=-1)
    with pytest.raises(InvalidOption, match="1 to 255"):
        job.using(key="")
    with pytest.raises(InvalidOption, match="unknown retry policy"):
        job.using(retry="sometimes")


def test_a_calls_own_policy_travels_with_the_job(app: Penstock) -> None:
    @app.task
    def job() -> None: ...

    own = Retry.fixed(7, 2.5, retry_on=("ECONNRESET",), cap=9.0)
    made = job.using(retry=own).using(timeout=None).call().job
    assert made.max_attempts == 7
    assert job.policy_for(made.options) == own
    assert job.timeout_for(made.options) is None


def test_using_adds_to_what_was_said_before(app: Penstock) -> None:
    @app.task(expire_after=60)
    def job() -> None: ...

    made = job.using(delay=timedelta(minutes=2), owner="me").using(key="k", priority="low").call().job
    assert (made.delay, made.owner, made.key, made.unique) == (120, "me", "k", True)
    assert (made.priority, made.expire_after) == (Priority.LOW, 60)
    assert job.call().job.owner is None


def test_the_key_comes_from_the_template_the_call_or_the_id(app: Penstock) -> None:
    @app.task(key="receipt:{order_id}:{lang}")
    def keyed(order_id: int, lang: str = "pt") -> None: ...

    @app.task
    def free() -> None: ...

    job = keyed.call(order_id=7).job
    assert (job.key, job.unique) == ("receipt:7:pt", True)
    assert keyed.using(key="mine").call(order_id=7).job.key == "mine"
    job = free.call().job
    assert (job.key, job.unique) == (job.id, False)


def test_the_catalogue_tells_every_option(app: Penstock) -> None:
    from penstock.tasks.catalogue import to_json, to_markdown

    app.queue("email", concurrency=10, retry="external_api")

    @app.task(queue="email", timeout=30, key="r:{order_id}", priority="high")
    async def send(ctx: Context, order_id: int) -> None:
        """Send | it."""

    @app.task(retry="immediate", timeout=None)
    def another() -> None: ...

    @app.task(on="order.paid")
    def thank(event: str) -> None: ...

    app.schedule("nightly", another, cron="0,30 4 * * *", tz="America/Sao_Paulo")
    app.schedule("hourly", another, every=3600)

    rows = app.registry.catalogue()
    assert [row["name"] for row in rows] == ["another", "send", "thank"]
    told = rows[1]
    assert rows[0]["schedules"] == ["hourly: every 1 h", "nightly: 0,30 4 * * * America/Sao_Paulo"]
    assert (told["schedules"], told["on"]) == ([], None)
    assert (rows[2]["schedules"], rows[2]["on"]) == ([], "order.paid")
    assert told["retry"] == "external_api: 5 attempts, 1 s × 2, at most 60 s"
    assert (told["concurrency"], told["execute"], told["priority"]) == (10, "async", "high")
    assert told["payload"]["properties"]["order_id"] == {"title": "Order Id", "type": "integer"}
    assert rows[0]["retry"] == "3 attempts, at once"
    assert "| send | email | Send \\| it. | high | 30.0 |" in to_markdown(rows)
    assert "| hourly: every 1 h; nightly: 0,30 4 * * * America/Sao_Paulo | – |" in to_markdown(rows)
    assert "| – | order.paid |" in to_markdown(rows)
    assert '"name": "another"' in to_json(rows)
