"""Limits as declared: which group, which lane; and what cannot be."""

import pytest

from penstock import InvalidArguments, InvalidOption, Penstock
from penstock.engine import Group
from penstock.model.limits import Limit


@pytest.fixture
def app():
    return Penstock("sqlite://:memory:")


def lane_of(task, **args):
    return task.call(**args).job.lane


def test_without_limits_jobs_go_to_the_open_lane(app):
    @app.task
    def plain(n: int) -> None: ...

    assert lane_of(plain, n=1) is None
    assert app.registry.groups() == ()


def test_a_queues_own_limit_leaves_its_jobs_in_the_open_lane(app):
    app.queue("email", rate="30/s", max_active=4)

    @app.task(queue="email")
    def send(to: str) -> None: ...

    assert lane_of(send, to="ana") is None
    assert app.registry.groups() == (Group("email", limit=Limit(30.0, 3, 4, "30/s")),)


def test_a_task_with_limits_has_a_lane_of_its_own(app):
    @app.task(rate="1/2s", concurrency=3)
    def call(n: int) -> None: ...

    assert lane_of(call, n=1) == "default>call"
    assert app.registry.groups() == (Group("default>call", limit=Limit(0.5, 1, 3, "1/2s")),)


def test_with_a_key_each_has_a_lane_and_limits_of_its_own(app):
    @app.task(concurrency=2, rate_key="{tenant}/{plan}")
    def report(tenant: int, plan: str = "free") -> None: ...

    assert lane_of(report, tenant=7) == "default>report>7/free"
    assert lane_of(report, tenant=7, plan="pro") == "default>report>7/pro"
    assert app.registry.groups() == (Group("default>report", per_key=Limit(concurrency=2)),)


def test_tasks_of_a_queue_share_its_keys(app):
    app.queue("ai", rate="10/s", rate_key="{provider}")

    @app.task(queue="ai")
    def ask(provider: str) -> None: ...

    @app.task(queue="ai")
    def embed(provider: str, text: str) -> None: ...

    assert lane_of(ask, provider="x") == lane_of(embed, provider="x", text="t") == "ai>>x"
    assert app.registry.groups() == (Group("ai>", per_key=Limit(10.0, 1, said="10/s")),)


def test_the_nearest_limit_per_key_counts(app):
    app.queue("ai", rate="10/s", rate_key="{provider}")

    @app.task(queue="ai", concurrency=1, rate_key="{course}")
    def outline(provider: str, course: int) -> None: ...

    assert lane_of(outline, provider="x", course=4) == "ai>outline>4"


def test_what_a_task_needs_gives_it_a_lane(app):
    @app.task(needs="whatsapp")
    def notify(to: str) -> None: ...

    @app.task(needs=["whatsapp", "s3", "s3"])
    def archive() -> None: ...

    assert lane_of(notify, to="ana") == "default>notify"
    assert {group.name: group.needs for group in app.registry.groups()} == {
        "default>notify": ("whatsapp",),
        "default>archive": ("whatsapp", "s3"),
    }


def test_a_task_that_needs_a_service_keeps_the_keys_of_its_queue(app):
    app.queue("ai", rate="10/s", rate_key="{provider}")

    @app.task(queue="ai", needs="gpu")
    def draw(provider: str) -> None: ...

    assert lane_of(draw, provider="x") == "ai>draw>x"
    assert Group("ai>draw", per_key=Limit(10.0, 1, said="10/s"), needs=("gpu",)) in app.registry.groups()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"rate": "fast"}, "rate= of task 'f' 'fast' cannot be read"),
        ({"rate": "0/s"}, "lets nothing start"),
        ({"rate": "1000001/s"}, "between one in ten years and a million a second"),
        ({"rate": "1/3651d"}, "between one in ten years and a million a second"),
        ({"concurrency": 0}, "concurrency= of task 'f' takes a whole number from 1 to"),
        ({"concurrency": 2**31}, "concurrency= of task 'f' takes a whole number from 1 to"),
        ({"rate_key": "{n}"}, "nothing to count"),
        ({"rate": "1/s", "rate_key": "{m}"}, r"the rate_key template of task 'f' holds \{m\}"),
        ({"needs": "what?"}, r"breaker \(needs= of task 'f'\) name 'what\?' is not allowed"),
        ({"needs": 5}, "needs= of task 'f' takes names of breakers"),
        ({"rate": "1/s", "rate_key": "x" * 256}, "the rate_key of task 'f' must be text"),
        ({"on": "no spaces"}, "event"),
    ],
)
def test_what_cannot_be_a_limit_is_refused_at_declaration(app, options, message):
    with pytest.raises(InvalidOption, match=message):

        @app.task(name="f", **options)
        def f(n: int) -> None: ...


def test_a_queue_with_a_key_and_nothing_to_count_is_refused(app):
    with pytest.raises(InvalidOption, match="nothing to count"):
        app.queue("ai", rate_key="{provider}")


def test_a_task_that_lacks_its_queues_key_is_refused(app):
    app.queue("ai", rate="10/s", rate_key="{provider}")
    with pytest.raises(InvalidOption, match="provider"):

        @app.task(queue="ai")
        def ask(question: str) -> None: ...


def test_a_key_made_of_what_is_no_text_is_refused_at_enqueue(app):
    @app.task(concurrency=1, rate_key="{tags}")
    def tag(tags: list[str]) -> None: ...

    with pytest.raises(InvalidArguments, match="rate_key"):
        tag.call(tags=["a"])


@pytest.mark.parametrize("tenant", ["", "x" * 256, "a\x00b"])
def test_arguments_that_make_no_key_are_refused_at_enqueue_as_wrong_arguments(app, tenant):
    @app.task(concurrency=1, rate_key="{tenant}")
    def count(tenant: str) -> None: ...

    with pytest.raises(InvalidArguments, match="tenant: makes no rate_key"):
        count.call(tenant=tenant)


@pytest.mark.parametrize(
    ("numbers", "message"),
    [
        ({"threshold": 2**31}, "threshold"),
        ({"probes": 2**31}, "probes"),
        ({"minimum": 2**31}, "minimum"),
        ({"failure_rate": "half"}, "failure_rate"),
        ({"failure_rate": 0.5, "window": 0}, "window= of breaker 'mail' is 0: it would never open"),
    ],
)
def test_what_cannot_be_a_breaker_is_refused_at_declaration(app, numbers, message):
    with pytest.raises(InvalidOption, match=message):
        app.breaker("mail", **numbers)


def test_an_operator_can_lift_a_limit_per_key(app, monkeypatch):
    monkeypatch.setenv("PENSTOCK_QUEUE_AI_RATE", "none")
    app.queue("ai", rate="10/s", rate_key="{provider}")

    @app.task(queue="ai")
    def ask(provider: str) -> None: ...

    assert lane_of(ask, provider="x") is None


def test_a_worker_refuses_a_task_that_needs_an_unknown_breaker(app):
    @app.task(needs="whatsap")
    def notify() -> None: ...

    app.breaker("whatsapp")
    with pytest.raises(InvalidOption, match="did you mean 'whatsapp'"):
        app.worker_host()


def test_a_breaker_is_declared_once(app):
    assert app.breaker("mail", threshold=3) is app.breaker("mail", threshold=3)
    with pytest.raises(InvalidOption, match="declared already"):
        app.breaker("mail", threshold=4)


@pytest.mark.parametrize(
    "options",
    [
        {"threshold": 0},
        {"reset": 0},
        {"reset": -1},
        {"probes": 0},
        {"failure_rate": 0},
        {"failure_rate": 1.5},
        {"minimum": 0},
    ],
)
def test_what_cannot_be_a_breaker_is_refused(app, options):
    with pytest.raises(InvalidOption, match="breaker 'mail'"):
        app.breaker("mail", **options)


def test_the_environment_sets_a_queues_rate(app, monkeypatch):
    monkeypatch.setenv("PENSTOCK_QUEUE_EMAIL_RATE", "5/s")
    monkeypatch.setenv("PENSTOCK_QUEUE_EMAIL_MAX_ACTIVE", "7")
    assert app.queue("email", rate="30/s").limit == Limit(5.0, 1, 7, "5/s")


def test_the_documents_name_for_the_gap_between_starts_works(app, monkeypatch):
    monkeypatch.setenv("JOB_QUEUE_COURSE_GEN_LIMITER_MS", "2000")
    assert app.queue("course_generation_queue").limit == Limit(0.5, 1, said="1/2000ms")


def test_the_catalogue_tells_limits(app):
    app.queue("email", rate="30/s")

    @app.task(queue="email")
    def send() -> None: ...

    @app.task(concurrency=2, rate_key="{tenant}", needs="mail", on="order.paid")
    def report(tenant: int) -> None: ...

    rows = {row["name"]: row for row in app.registry.catalogue()}
    assert rows["send"]["limit"] == "30/s, 3 at once"
    told = rows["report"]
    assert (told["limit"], told["needs"], told["on"]) == ("2 active, per {tenant}", "mail", "order.paid")
