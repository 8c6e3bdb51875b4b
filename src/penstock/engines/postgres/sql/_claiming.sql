-- Shared by `claim` and `settle`: the lanes open to this worker, the first jobs in each, made its own.
-- The worker's row is held shared until the end, so that a rescue sees either all of this claim or none.
moment as (select coalesce(%(now)s::timestamptz, now()) as now),
alive as (
    select w.id from {schema}.workers w, moment
    where w.id = %(worker)s and w.expires_at > moment.now and not %(request)s = any(w.void_requests)
    for key share of w
),
wanted as (
    select a.queue, a.most from unnest(%(queues)b::text[], %(most)b::integer[]) as a(queue, most)
    where exists (select from alive)
        and not exists (select from {schema}.queues q where q.name = a.queue and q.paused)
),
open_lanes as (
    select queue as lane, queue, most from wanted
    union all
    select l.lane, l.queue, w.most
    from {schema}.lanes l
    join wanted w on w.queue = l.queue
    join unnest(%(tasks)b::text[], %(fingerprints)b::text[]) as t(task, fingerprint)
        on t.task = l.task and t.fingerprint is distinct from l.misfit
),
locked as (
    select o.queue, o.most, j.place, j.rank, j.id
    from open_lanes o, moment, lateral (
        select c.ctid as place, c.rank, c.id from {schema}.jobs c
        where c.lane = o.lane and c.state = 'waiting' and (c.expires_at is null or c.expires_at > moment.now)
        order by c.rank, c.id
        limit least(o.most, %(limit)s)
        for update skip locked
    ) j
),
chosen as (
    select place from (
        select place, rank, id, most, row_number() over (partition by queue order by rank, id) as nth from locked
    ) in_queue
    where nth <= most
    order by rank, id
    limit %(limit)s
),
claimed as (
    update {schema}.jobs j
    set state = 'active', token = gen_random_uuid(), worker = %(worker)s, request = %(request)s,
        claimed_at = moment.now, started_at = coalesce(j.started_at, moment.now), attempt = j.attempt + 1
    from moment
    where j.ctid = any(array(select place from chosen))
    returning j.id, j.token, j.queue, j.task, j.lane, j.args, j.key, j.attempt, j.max_attempts, j.priority,
        j.owner, j.options, j.suspect, j.crashes, j.created_at, j.due_at, j.rank
)
