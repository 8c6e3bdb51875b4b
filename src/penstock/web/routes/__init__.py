"""The routes, a module for each thing they are about.

Each has `register(service)`, and its endpoints say by `@needs` who may ask. What is put into ROUTES is
served, guarded, and in the OpenAPI document.
"""

from penstock.web.routes import (
    audit,
    breakers,
    dead,
    enqueue,
    flows,
    hooks,
    jobs,
    openapi,
    queues,
    schedules,
    tasks,
)

ROUTES = (enqueue, jobs, dead, queues, schedules, breakers, flows, tasks, audit, hooks, openapi)
