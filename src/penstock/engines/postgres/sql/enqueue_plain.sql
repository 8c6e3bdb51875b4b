-- One job that has nothing but a payload and is due at once, as most are that come alone. A statement in a transaction
-- of its own: `now()` is when it began, and the same for all three instants. Whether to tell of it is decided when it is
-- in: what is not asked for an answer would be done last.
with enqueued as (
    insert into {schema}.jobs (
        id, queue, task, lane, state, args, priority, max_attempts, rank, created_at, due_at)
    values (
        %(id)s::uuid, %(queue)s::text, %(task)s::text, %(queue)s::text, 'waiting', %(args)s::text,
        %(priority)s::smallint, %(max_attempts)s::integer,
        {schema}.rank_of(coalesce(%(now)s::timestamptz, now()), %(priority)s::smallint),
        coalesce(%(now)s::timestamptz, now()), coalesce(%(now)s::timestamptz, now()))
    returning queue
), counted as (
    insert into {schema}.counts (queue, state, n) values (%(queue)s::text, 'waiting', 1)
)
select {schema}.wake(queue) from enqueued
