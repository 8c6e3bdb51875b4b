"""The routes, a module for each thing they are about. Each has `register(service)`."""

from penstock.web.routes import (
    audit,
    breakers,
    dead,
    enqueue,
    flows,
    health,
    hooks,
    jobs,
    openapi,
    queues,
    schedules,
    session,
    tasks,
    why,
)

ROUTES = (
    enqueue, jobs, why, dead, queues, schedules, breakers, flows, tasks, audit, health, hooks, session,
    openapi,
)  # fmt: skip
