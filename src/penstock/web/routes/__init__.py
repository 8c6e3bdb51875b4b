"""The routes, a module for each thing they are about.

Each has `register(service)`, and its endpoints say by `@needs` who may ask. What is put into ROUTES is
served, guarded, and in the OpenAPI document.
"""

from penstock.web.routes import (
    alerts,
    audit,
    breakers,
    dead,
    enqueue,
    events,
    flows,
    health,
    hooks,
    jobs,
    limits,
    matching,
    openapi,
    queues,
    schedules,
    session,
    stats,
    tasks,
    why,
    workers,
)

ROUTES = (
    enqueue, matching, jobs, events, why, dead, queues, workers, schedules, limits, breakers, flows, tasks,
    alerts, audit, health, stats, hooks, session, openapi,
)  # fmt: skip
