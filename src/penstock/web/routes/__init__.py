"""The routes, a module for each thing they are about. Each has `register(service)`."""

from penstock.web.routes import (
    audit,
    breakers,
    dead,
    enqueue,
    events,
    flows,
    health,
    hooks,
    jobs,
    openapi,
    queues,
    schedules,
    session,
    stats,
    tasks,
    why,
)

ROUTES = (
    enqueue, jobs, events, why, dead, queues, schedules, breakers, flows, tasks, audit, health, stats,
    hooks, session, openapi,
)  # fmt: skip
