-- The fast way: what completed leaves the hot table where id, token and state match, and the next are claimed.
-- One row per claim, at least one; the last columns say whether the worker lives, and which ends were refused.
with ends as (
    select * from unnest(
        string_to_array(%(ids)s, ' ')::uuid[], string_to_array(%(tokens)s, ' ')::uuid[],
        %(results)b::text[], %(notes)b::text[], string_to_array(%(ran_for)s, ' ')::double precision[],
        string_to_array(%(keep)s, null)::boolean[]
    ) as e(id, token, result, note, ran_for, keep)
),
{_claiming},
gone as (
    -- By the primary key: written so that the partial index of held jobs, full of dead entries, is no option.
    delete from {schema}.jobs j using ends e
    where j.id = e.id and j.token = e.token and j.state || '' = 'active'
    returning j.*, e.result, e.note as last_note, e.ran_for as last_run, e.keep
),
kept as (
    insert into {schema}.finished (
        {_finished_columns})
    select
        id, queue, task, lane, 'completed', args, key, is_unique, priority, attempt, max_attempts, created_at,
        due_at, expires_at, started_at, claimed_at, moment.now, owner, options, worker, token, progress, result,
        last_note, errors, ran_for + last_run, suspect, crashes, rescues, cancel_requested, recovered_from
    from gone, moment where keep
),
freed as (
    delete from {schema}.keys k using gone g
    where not g.keep and g.is_unique
        and k.queue = g.queue and k.task = g.task and k.key = g.key and k.job_id = g.id
),
counted as (
    insert into {schema}.counts (queue, lane, state, n)
    select queue, lane, state, sum(n) from (
        select queue, null as lane, 'active' as state, -count(*) as n from gone group by 1
        union all select queue, null, 'completed', count(*) from gone where keep group by 1
        union all select queue, nullif(lane, queue), 'waiting', -count(*) from claimed group by 1, 2
        union all select queue, null, 'active', count(*) from claimed group by 1
    ) changes
    group by 1, 2, 3 having sum(n) <> 0
),
answer as (
    select case when count(*) < (select count(*) from ends)
                then array(select e.id::text || ' ' || e.token::text from ends e
                           where (e.id, e.token) not in (select id, token from gone)) end as refused
    from gone
)
select c.id::text, c.token::text, c.queue, c.task, c.lane, c.args, coalesce(c.key, c.id::text), c.attempt,
    c.max_attempts, c.priority, c.owner, c.options, c.suspect, c.crashes, c.created_at, c.due_at,
    exists (select from alive), answer.refused
from answer left join claimed c on true
order by c.rank, c.id
