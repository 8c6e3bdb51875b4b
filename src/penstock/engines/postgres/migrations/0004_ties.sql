-- What the end of a job means to others: those that wait for it, and its flow.

-- Held by who puts in a job behind this one, until it can be seen; and by who ends this one.
create function {schema}.hold_upstream(id uuid, shared boolean) returns void
language plpgsql as $$
declare
    name constant bigint := hashtextextended('{schema} upstream ' || id::text, 0);
begin
    if shared then
        perform pg_advisory_xact_lock_shared(name);
    else
        perform pg_advisory_xact_lock(name);
    end if;
end
$$;

-- Move jobs that do not run to the finished ones; those of them whose end is to be told.
create function {schema}.finish(ids uuid[], end_state text, notes text[], moment timestamptz, cause text default null)
returns {schema}.ended_job[]
language plpgsql as $$
declare
    tied {schema}.ended_job[];
begin
    with gone as (
        delete from {schema}.jobs j using unnest(ids, notes) as g(id, last_note)
        where j.id = g.id and j.state <> 'active'
        returning j.*, g.last_note
    ),
    kept as (
        insert into {schema}.finished ({_finished_columns})
        select id, queue, task, lane, end_state, args, key, is_unique, priority, attempt, max_attempts, created_at,
            due_at, expires_at, started_at, claimed_at, moment, owner, options, worker, ended_token, progress,
            null, last_note, errors, ran_for, suspect, crashes, rescues, cancel_requested, recovered_from, after,
            deadline_at, flow, flow_place, shelf, origin, stepped, flow is not null
        from gone
        on conflict (id) do nothing
    ),
    buried as (
        insert into {schema}.dead_letters (
            job_id, queue, task, args, key, is_unique, priority, max_attempts, owner, options, reason, error,
            attempts, first_started_at, ran_for, failed_at, span, span_seconds)
        select id, queue, task, args, key, is_unique, priority, max_attempts, owner, options, cause, errors -> -1,
            attempt, started_at, ran_for, moment, span, span_seconds
        from gone where end_state = 'failed'
        on conflict (job_id) do nothing
    ),
    freed as (
        delete from {schema}.keys k using gone g
        where g.is_unique and g.span in ('unfinished', 'started', 'debounce')
            and k.queue = g.queue and k.task = g.task and k.key = g.key and k.job_id = g.id
    ),
    cut as (
        delete from {schema}.edges e using gone g where g.state = 'blocked' and e.job_id = g.id
    ),
    counted as (
        insert into {schema}.counts (queue, lane, state, n)
        select queue, case state when 'waiting' then nullif(lane, queue) end, state, -count(*)
        from gone group by 1, 2, 3
        union all
        select queue, null, end_state, count(*) from gone group by 1
        union all
        select queue, null, 'dead', count(*) from gone where end_state = 'failed' group by 1
    )
    select array_agg((g.id, end_state, g.flow, g.feeds)::{schema}.ended_job) filter (where g.tied)
    into tied from gone g;
    return coalesce(tied, '{}');
end
$$;

-- Blocked jobs that wait for nobody any more: due at their own time or now.
create function {schema}.let_go(ids uuid[], moment timestamptz) returns void
language plpgsql as $$
declare
    woken bigint;
begin
    delete from {schema}.edges e where e.job_id = any(ids);
    with free as (
        update {schema}.jobs j
        set state = case when j.due_at > moment then 'delayed' else 'waiting' end,
            due_at = greatest(j.due_at, moment), rank = {schema}.rank_of(greatest(j.due_at, moment), j.priority),
            expires_at = j.expires_at + (greatest(j.due_at, moment) - j.due_at)
        where j.id = any(ids) and j.state || '' = 'blocked'
        returning j.queue, j.lane, j.state
    ),
    counted as (
        insert into {schema}.counts (queue, lane, state, n)
        select queue, null, 'blocked', -count(*) from free group by 1
        union all
        select queue, case state when 'waiting' then nullif(lane, queue) end, state, count(*) from free group by 1, 2, 3
    ),
    told as (
        insert into {schema}.lane_news (queue, lane)
        select distinct queue, lane from free where strpos(lane, '>') > 0 and state = 'waiting'
    )
    select count({schema}.wake(q.queue)) into woken from (select distinct queue from free where state = 'waiting') q;
end
$$;

-- Members of these flows have ended, one for each time it is named.
create function {schema}.count_down(members text[]) returns void
language plpgsql as $$
declare
    over text[];
begin
    perform from {schema}.flows f where f.id = any(members) order by f.id for update;
    with less as (
        update {schema}.flows f set unfinished = f.unfinished - m.n
        from (select m.flow, count(*) as n from unnest(members) as m(flow) group by 1) m
        where f.id = m.flow
        returning f.id, f.unfinished
    )
    select array_agg(id) into over from less where unfinished <= 0;
    if over is not null then
        update {schema}.finished f set pinned = false where f.flow = any(over) and f.pinned;
        delete from {schema}.flows f
        where f.id = any(over) and not exists (select from {schema}.finished m where m.flow = f.id);
    end if;
end
$$;

-- Tell those who wait for these jobs that they have ended; and those who wait for whom that ends.
create function {schema}.ended(jobs {schema}.ended_job[], moment timestamptz) returns void
language plpgsql as $$
declare
    batch {schema}.ended_job[] := jobs;
    members text[] := '{}';
    touched uuid[];
    dropped uuid[];
    notes text[];
begin
    while cardinality(batch) > 0 loop
        members := members || array(select b.flow from unnest(batch) b where b.flow is not null);
        perform {schema}.hold_upstream(b.id, false) from (select b.id from unnest(batch) b where b.feeds order by 1) b;
        -- Locked first, looked at after: of two who end the last upstreams of a job, the second sees what the
        -- first has done.
        touched := array(
            select j.id from {schema}.jobs j
            where j.state || '' = 'blocked' and j.id = any(array(
                select e.job_id from {schema}.edges e join unnest(batch) b on b.id = e.upstream))
            order by j.id for update);
        exit when cardinality(touched) = 0;

        select array_agg(d.job_id), array_agg(d.note) into dropped, notes from (
            select distinct on (e.job_id) e.job_id,
                format('job %s, for which it waited, did not complete', b.id) as note
            from {schema}.edges e join unnest(batch) b on b.id = e.upstream
            where e.job_id = any(touched) and e.on_failure = 'fail' and b.state <> 'completed'
            order by e.job_id, e.upstream
        ) d;
        delete from {schema}.edges e using unnest(batch) b
        where e.job_id = any(touched) and e.upstream = b.id and (b.state = 'completed' or e.on_failure = 'ignore');
        perform {schema}.let_go(array(
            select t.id from unnest(touched) as t(id)
            where t.id <> all(coalesce(dropped, '{}')) and (
                not exists (select from {schema}.edges e where e.job_id = t.id)
                or exists (
                    select from {schema}.edges e join unnest(batch) b on b.id = e.upstream
                    where e.job_id = t.id and e.on_failure = 'continue' and b.state <> 'completed'))
        ), moment);
        batch := case when dropped is not null then {schema}.finish(dropped, 'cancelled', notes, moment) end;
    end loop;
    if cardinality(members) > 0 then
        perform {schema}.count_down(members);
    end if;
end
$$;
