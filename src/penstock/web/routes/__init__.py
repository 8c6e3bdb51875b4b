"""The routes, a module for each thing they are about. Each has `register(service)`."""

from penstock.web.routes import (
    audit,
    breakers,
    dead,
    enqueue,
    events,
    flows,
    hooks,
    jobs,
    openapi,
    queues,
    schedules,
    tasks,
)

ROUTES = (enqueue, jobs, events, dead, queues, schedules, breakers, flows, tasks, audit, hooks, openapi)
