-- Shared by `delete` and `prune`: a key goes with its record, unless another job holds it by now, or its period is
-- not over.
gone as (
    delete from {schema}.finished f where f.ctid = any(array(select place from doomed))
    returning f.*
),
freed as (
    delete from {schema}.keys k using gone g
    where g.is_unique and k.queue = g.queue and k.task = g.task and k.key = g.key and k.job_id = g.id
        and (k.until is null or k.until <= coalesce(%(now)s::timestamptz, now()))
),
outlived as (
    update {schema}.keys k set outlives = true from gone g
    where g.is_unique and k.queue = g.queue and k.task = g.task and k.key = g.key and k.job_id = g.id
        and k.until > coalesce(%(now)s::timestamptz, now())
),
unkept as (
    delete from {schema}.steps s using gone g where g.stepped and s.job_id = g.id
),
forgotten as (
    delete from {schema}.flows f
    where f.id in (select g.flow from gone g) and f.unfinished <= 0 and not exists (
        select from {schema}.finished m where m.flow = f.id and m.id not in (select g.id from gone g))
),
remembered as (
    {_remember}
    select g.id, g.queue, g.task, g.state, g.args, g.result,
        case when g.state <> 'completed' then {schema}.error_message(g.errors, g.note) end,
        g.attempt, g.max_attempts, g.key, g.owner, g.created_at, g.started_at, g.finished_at
    from gone g where %(remember)s
    {_remember_anew}
),
counted as (
    insert into {schema}.counts (queue, lane, state, n)
    select queue, null, state, -count(*) from gone group by 1, 3
)
