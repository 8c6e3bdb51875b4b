with moment as (select coalesce(%(now)s::timestamptz, now()) as now),
past as (
    select ctid as place from {schema}.jobs
    where state in ('waiting', 'delayed') and expires_at <= coalesce(%(now)s::timestamptz, now())
    order by expires_at limit %(limit)s for update skip locked
),
gone as (
    delete from {schema}.jobs j using moment where j.ctid = any(array(select place from past))
    returning j.*, j.state as was, moment.now as finished_at
),
kept as (
    insert into {schema}.finished ({_finished_columns})
    select id, queue, task, lane, 'cancelled', args, key, is_unique, priority, attempt, max_attempts, created_at,
        due_at, expires_at, started_at, claimed_at, finished_at, owner, options, worker, ended_token, progress,
        null, %(note)s, errors, ran_for, suspect, crashes, rescues, cancel_requested,
        recovered_from
    from gone
    on conflict (id) do nothing
),
counted as (
    {_counting_gone}
)
select count(*) from gone
