"""What is said where a handler tries to end a transaction whose end is ours."""

from __future__ import annotations

from penstock.model.errors import InvalidOption


def ends_here(what: str) -> InvalidOption:
    """`what` was not done."""
    return InvalidOption(
        f"{what}: the work of ctx.transaction() is committed together with its job or row, when the block "
        "ends, and nothing before; to undo it, leave the block by an exception, or go back to a savepoint"
    )


def is_over() -> InvalidOption:
    """A statement was not done: it would be kept, whatever becomes of the run."""
    return InvalidOption(
        "the transaction of this ctx.transaction() is over before the end of its block: something in it has "
        "ended it. Leave the block"
    )
