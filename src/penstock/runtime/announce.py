"""What a worker tells the engine before it claims: the limits, breakers and schedules of its app."""

from __future__ import annotations

from penstock.engine import Engine, Group
from penstock.model.lanes import group_name
from penstock.tasks.registry import Registry
from penstock.tasks.scheduling import sync


async def announce(engine: Engine, registry: Registry) -> None:
    """Declare limits, breakers and schedules; those that this app declares no more are let go."""
    if registry.breakers:
        await engine.put_breakers([breaker.declared for breaker in registry.breakers.values()])
    declared = registry.groups()
    stored = {found.group for found in await engine.groups()}
    changed = [*(g for g in declared if g not in stored), *_let_go(stored, declared, registry)]
    if changed:
        await engine.put_groups(changed)
    await sync(engine, registry.schedules.declared, registry.schedules.source())


async def declare_again(engine: Engine, registry: Registry) -> None:
    """Say which limits and breakers are still wanted; not those that another release has changed since."""
    known = {found.breaker for found in await engine.breakers()}
    breakers = [breaker.declared for breaker in registry.breakers.values() if breaker.declared in known]
    if breakers:
        await engine.put_breakers(breakers)
    stored = {found.group for found in await engine.groups()}
    groups = [group for group in registry.groups() if group in stored]
    if groups:
        await engine.put_groups(groups)


def _let_go(stored: set[Group], declared: tuple[Group, ...], registry: Registry) -> list[Group]:
    """Groups of ours with nothing to say any more. Another app's tasks in the same queue are not ours."""
    ours = {*registry.queues, *(group_name(name) for name in registry.queues)}
    ours |= {group_name(task.queue, task.name) for task in registry.tasks.values()}
    free = {group.name: Group(group.name) for group in stored if group.name in ours}
    for group in declared:
        free.pop(group.name, None)
    return [group for group in free.values() if group not in stored]
