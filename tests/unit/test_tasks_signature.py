"""What a handler may look like, and what it is told when it may not."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any

import pytest

from penstock import Penstock
from penstock.model.errors import InvalidOption
from penstock.tasks.context import Context, SyncContext
from penstock.tasks.signature import read_signature

if TYPE_CHECKING:
    from decimal import Decimal as OnlyForTheChecker

    from penstock import Context as CheckedContext


def test_the_context_is_first_and_is_no_argument() -> None:
    async def handler(ctx: Context, order_id: int, *, to: str = "x") -> str: ...

    found = read_signature(handler)
    assert found.is_async
    assert found.takes_context
    assert found.names == ("order_id", "to")
    assert found.positional == ("order_id",)
    assert found.defaults == {"to": "x"}
    assert found.types == {"order_id": int, "to": str}
    assert found.returns is str


def test_the_context_is_optional() -> None:
    def handler(path: str) -> None: ...

    found = read_signature(handler)
    assert not found.is_async
    assert not found.takes_context
    assert found.names == ("path",)


def test_a_context_imported_for_the_type_checker_only_is_recognised() -> None:
    async def handler(ctx: CheckedContext, x: int) -> None: ...

    handler.__annotations__["ctx"] = "penstock.Context"
    assert read_signature(handler).takes_context
    assert read_signature(handler).types == {"x": int}


def test_missing_annotations_mean_anything() -> None:
    def handler(x, y=1): ...

    found = read_signature(handler)
    assert found.types == {"x": Any, "y": Any}
    assert found.returns is Any


def _any(ctx: Any, x: int) -> None: ...
def _object(ctx: object, x: int) -> None: ...
def _bare(ctx, x: int) -> None: ...
async def _async_any(job: Any) -> None: ...
async def _async_with_sync(ctx: SyncContext) -> None: ...
def _sync_with_async(ctx: Context) -> None: ...


@pytest.mark.parametrize(
    ("handler", "advice"),
    [
        (_any, "'ctx: SyncContext'"),
        (_object, "'ctx: SyncContext'"),
        (_bare, "'ctx: SyncContext'"),
        (_async_any, "'job: Context'"),
        (_async_with_sync, "'ctx: Context'"),
        (_sync_with_async, "'ctx: SyncContext'"),
    ],
)
def test_a_first_parameter_that_could_be_anything_is_refused_with_what_to_write(handler, advice) -> None:
    with pytest.raises(InvalidOption, match=advice):
        read_signature(handler)


def _late(x: int, ctx: SyncContext) -> None: ...
def _named(*, ctx: SyncContext) -> None: ...


@pytest.mark.parametrize(("handler", "advice"), [(_late, "goes first"), (_named, "before the '\\*'")])
def test_a_context_in_another_place_is_refused(handler, advice) -> None:
    with pytest.raises(InvalidOption, match=advice):
        read_signature(handler)


def _stars(*values: int) -> None: ...
def _names(**values: int) -> None: ...
def _by_position(a: int, /) -> None: ...
def _generator() -> Any:
    yield 1


async def _async_generator() -> Any:
    yield 1


@pytest.mark.parametrize(
    ("handler", "advice"),
    [
        (_stars, "take one list"),
        (_names, "take one dict"),
        (_by_position, "drop the '/'"),
        (_generator, "returns one value"),
        (_async_generator, "returns one value"),
    ],
)
def test_shapes_that_cannot_travel_by_name_are_refused(handler, advice) -> None:
    with pytest.raises(InvalidOption, match=advice):
        read_signature(handler)


def test_an_annotation_that_cannot_be_resolved_says_where_types_must_be() -> None:
    def handler(amount: OnlyForTheChecker) -> None: ...

    with pytest.raises(InvalidOption, match="module level") as refused:
        _ = read_signature(handler).types
    assert "handler" in str(refused.value)
    assert "'amount', 'OnlyForTheChecker'" in str(refused.value)


def test_an_annotation_that_raises_is_one_that_cannot_be_read() -> None:
    def handler(amount: int) -> None: ...

    handler.__annotations__["amount"] = "1 / 0"
    with pytest.raises(InvalidOption, match="ZeroDivisionError"):
        _ = read_signature(handler).types


def test_no_worker_is_made_where_an_annotation_cannot_be_read() -> None:
    app = Penstock("sqlite://:memory:")

    @app.task
    def pay(amount: OnlyForTheChecker) -> None: ...

    with pytest.raises(InvalidOption, match="'amount', 'OnlyForTheChecker'"):
        app.worker_host()


def test_a_handler_may_name_the_task_it_becomes() -> None:
    app = Penstock("sqlite://:memory:")

    @app.task
    def again(x: int) -> None:
        again.enqueue(x - 1)

    assert again.declared.signature.types == {"x": int}


def test_a_wrapped_function_keeps_the_signature_of_what_it_wraps() -> None:
    def traced(fn):
        @functools.wraps(fn)
        async def wrapper(*args, **kwargs):
            return await fn(*args, **kwargs)

        return wrapper

    @traced
    async def handler(ctx: Context, x: int) -> str: ...

    found = read_signature(handler)
    assert found.takes_context
    assert found.types == {"x": int}
