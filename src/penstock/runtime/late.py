"""What a handler says after its run was settled in its own transaction: it is heard, and changes nothing."""

from __future__ import annotations

import logging
from typing import Any

from penstock.model.decide import Committed
from penstock.model.failure import described, traceback_of
from penstock.model.job import Claim
from penstock.model.redaction import Clean

log = logging.getLogger("penstock.worker")


def returned(claim: Claim, value: Any, *, answered: bool) -> Committed:
    """`answered`: the result was set inside the transaction, and what is returned is not looked at."""
    if value is not None and not answered:
        log.warning(
            "job %s (%s) returned a value after its transaction had completed it, and the value is not kept; "
            "use tx.set_result() inside the block",
            claim.id,
            claim.task,
        )
    return Committed()


def raised(claim: Claim, error: BaseException, clean: Clean) -> Committed:
    log.warning(
        "job %s (%s) raised after its transaction had completed it: it stays completed\n%s%s",
        claim.id,
        claim.task,
        traceback_of(error, clean),
        described(error, clean),
    )
    return Committed()
