-- Locked in the order of the ids, as settling does. An active job is asked to stop by its worker's heartbeat.
with moment as (select coalesce(%(now)s::timestamptz, now()) as now),
held as materialized (
    select j.id, j.state from {schema}.jobs j where j.id = any(%(ids)b::text[]::uuid[]) order by j.id for update
),
asked as (
    update {schema}.jobs j set cancel_requested = true,
        note = case when j.cancel_requested then j.note else %(reason)s end
    from held h where j.id = h.id and h.state = 'active'
),
gone as (
    delete from {schema}.jobs j using held h, moment where j.id = h.id and h.state <> 'active'
    returning j.*, j.state as was, moment.now as finished_at
),
kept as (
    insert into {schema}.finished ({_finished_columns})
    select id, queue, task, lane, 'cancelled', args, key, is_unique, priority, attempt, max_attempts, created_at,
        due_at, expires_at, started_at, claimed_at, finished_at, owner, options, worker, ended_token, progress,
        null, %(reason)s, errors, ran_for, suspect, crashes, rescues, cancel_requested, recovered_from
    from gone
    on conflict (id) do nothing
),
counted as (
    {_counting_gone}
)
select count(*) from gone
