"""Penstock: background jobs for Python.

Names are imported when first used, so that `import penstock` costs next to nothing.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from penstock.app import Penstock
    from penstock.model.errors import (
        AccessRefused,
        ActionRefused,
        CalledInLoop,
        CircuitOpen,
        Contended,
        Disabled,
        EngineError,
        EngineFull,
        EngineUnavailable,
        EngineUnsafe,
        EnqueueError,
        InvalidArguments,
        InvalidOption,
        InvalidValue,
        JobCancelled,
        JobFailed,
        JobNotFound,
        LeaseLost,
        MissingExtra,
        NoOp,
        NotSupported,
        OutcomeUnknown,
        PenstockError,
        Problem,
        RateLimited,
        ResultDropped,
        ResultTimeout,
        ResultUnavailable,
        SchemaMissing,
        SchemaTooNew,
        Signal,
        Snooze,
        TransactionTooLong,
        UnknownQueue,
        UnknownTask,
        Unrecoverable,
        ValueTooLarge,
        WorkerExpired,
        WorkerStuck,
    )
    from penstock.model.failure import FailureClass
    from penstock.model.job import Job
    from penstock.model.priority import Priority
    from penstock.model.retry import Retry
    from penstock.model.states import State
    from penstock.tasks.breakers import CircuitBreaker
    from penstock.tasks.call import Call
    from penstock.tasks.context import Context, SyncContext
    from penstock.tasks.errands import Upstream
    from penstock.tasks.flow import Flow, FlowHandle, Node
    from penstock.tasks.handle import JobHandle
    from penstock.tasks.queue import Queue
    from penstock.tasks.secret_fields import Secret
    from penstock.tasks.settings import Settings
    from penstock.tasks.task import Task
    from penstock.tasks.transaction import SyncTransaction, Transaction
    from penstock.tasks.unique import Debounce, Throttle

__all__ = [
    "AccessRefused",
    "ActionRefused",
    "Call",
    "CalledInLoop",
    "CircuitBreaker",
    "CircuitOpen",
    "Contended",
    "Context",
    "Debounce",
    "Disabled",
    "EngineError",
    "EngineFull",
    "EngineUnavailable",
    "EngineUnsafe",
    "EnqueueError",
    "FailureClass",
    "Flow",
    "FlowHandle",
    "InvalidArguments",
    "InvalidOption",
    "InvalidValue",
    "Job",
    "JobCancelled",
    "JobFailed",
    "JobHandle",
    "JobNotFound",
    "LeaseLost",
    "MissingExtra",
    "NoOp",
    "Node",
    "NotSupported",
    "OutcomeUnknown",
    "Penstock",
    "PenstockError",
    "Priority",
    "Problem",
    "Queue",
    "RateLimited",
    "ResultDropped",
    "ResultTimeout",
    "ResultUnavailable",
    "Retry",
    "SchemaMissing",
    "SchemaTooNew",
    "Secret",
    "Settings",
    "Signal",
    "Snooze",
    "State",
    "SyncContext",
    "SyncTransaction",
    "Task",
    "Throttle",
    "Transaction",
    "TransactionTooLong",
    "UnknownQueue",
    "UnknownTask",
    "Unrecoverable",
    "Upstream",
    "ValueTooLarge",
    "WorkerExpired",
    "WorkerStuck",
]

_HOMES = {
    "Penstock": "penstock.app",
    "FailureClass": "penstock.model.failure",
    "Job": "penstock.model.job",
    "Priority": "penstock.model.priority",
    "Retry": "penstock.model.retry",
    "State": "penstock.model.states",
    "Call": "penstock.tasks.call",
    "CircuitBreaker": "penstock.tasks.breakers",
    "Context": "penstock.tasks.context",
    "SyncContext": "penstock.tasks.context",
    "Debounce": "penstock.tasks.unique",
    "Flow": "penstock.tasks.flow",
    "FlowHandle": "penstock.tasks.flow",
    "JobHandle": "penstock.tasks.handle",
    "Node": "penstock.tasks.flow",
    "Queue": "penstock.tasks.queue",
    "Secret": "penstock.tasks.secret_fields",
    "Settings": "penstock.tasks.settings",
    "SyncTransaction": "penstock.tasks.transaction",
    "Task": "penstock.tasks.task",
    "Throttle": "penstock.tasks.unique",
    "Transaction": "penstock.tasks.transaction",
    "Upstream": "penstock.tasks.errands",
}


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module 'penstock' has no attribute {name!r}")
    found = getattr(import_module(_HOMES.get(name, "penstock.model.errors")), name)
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    return sorted(__all__)
