-- A version-7 UUID: 48 bits of time, the rest random.
create function {schema}.uuid7(at timestamptz) returns uuid
language sql volatile as $$
    select encode(
        set_byte(
            overlay(uuid_send(gen_random_uuid())
                    placing substring(int8send((extract(epoch from at) * 1000)::bigint) from 3) from 1 for 6),
            6, (get_byte(uuid_send(gen_random_uuid()), 0) & 15) | 112),
        'hex')::uuid
$$;

-- What `enqueue` is given, as rows. See there for the fields and what stands for a missing one.
create function {schema}.new_jobs(jobs json, moment timestamptz) returns setof {schema}.jobs
language plpgsql as $$
begin
    if exists (
        select from json_to_recordset(jobs) as g ("window" text)
        where g."window" not in ('record', 'unfinished', 'started', 'period', 'debounce'))
    then
        raise check_violation using message = 'window_is_known: record, unfinished, started, period or debounce';
    end if;
    return query
    select
        j.id, j.queue, j.task, coalesce(j.lane, j.queue),
        case when j.blocked then 'blocked' when j.due > moment then 'delayed' else 'waiting' end::{schema}.job_state,
        j.args, case when j.is_unique then j.key else nullif(nullif(j.key, ''), j.id::text) end, j.is_unique,
        j.priority::{schema}.job_priority, 0, j.max_attempts::{schema}.job_attempts,
        {schema}.rank_of(j.due, j.priority), moment::{schema}.job_instant, j.due::{schema}.job_instant,
        (j.due + j.expire_after * interval '1 s')::{schema}.job_instant, null::timestamptz, null::timestamptz, j.owner, j.options,
        null::text, null::text, null::uuid, null::uuid, null::json, null::text, null::jsonb,
        0::double precision, false, 0, 0, false, null::uuid,
        null::uuid[], case when j.blocked then moment + (j.ties ->> 'deadline')::double precision * interval '1 s' end,
        j.ties ->> 'at_deadline', j.flow, case when j.flow is not null then nextval('{schema}.flow_places') end,
        j.ties ->> 'shelf', j.ties ->> 'origin', j.feeds, j.feeds or j.flow is not null,
        false, false, j.span, case when j.span is not null then j.window_seconds end
    from (
        select
            coalesce(g.id, {schema}.uuid7(moment)) as id, coalesce(g.queue, 'default') as queue, g.task,
            coalesce(g.args, '{}') as args, g.key, g.lane, g.owner, g.options,
            g.key is not null and coalesce(g."unique", g.key <> '') as is_unique,
            coalesce(g.priority, 3::smallint) as priority, coalesce(g.max_attempts, 3) as max_attempts,
            moment + interval '1 s' * (
                coalesce(g.delay, 0) + case when w.span = 'debounce' then coalesce(g.window_seconds, 0) else 0 end
            ) as due, g.expire_after, w.span, coalesce(g.window_seconds, 0) as window_seconds,
            g.ties, coalesce(json_array_length(g.ties -> 'after'), 0) > 0 as blocked,
            g.ties -> 'flow' ->> 0 as flow, coalesce((g.ties ->> 'feeds')::boolean, false) as feeds
        from json_to_recordset(jobs) as g (
            id uuid, queue text, task text, args text, key text, "unique" boolean, priority smallint,
            delay double precision, max_attempts integer, owner text, expire_after double precision, options text,
            lane text, ties json, "window" text, window_seconds double precision),
            lateral (select case when g.key is not null and coalesce(g."unique", g.key <> '')
                                 then nullif(g."window", 'record') end as span) w
    ) j;
end
$$;

-- Put rows in, count them and wake those who wait; those that were not there yet.
create function {schema}.insert_jobs(items {schema}.jobs[]) returns uuid[]
language plpgsql as $$
declare
    made uuid[];
begin
    with created as (
        insert into {schema}.jobs select i.* from unnest(items) i on conflict (id) do nothing
        returning id, queue, lane, state
    ),
    counted as (
        insert into {schema}.counts (queue, lane, state, n)
        select queue, nullif(lane, queue), state, count(*) from created group by 1, 2, 3
    ),
    told as (
        insert into {schema}.lane_news (queue, lane)
        select distinct queue, lane from created where strpos(lane, '>') > 0 and state = 'waiting'
    )
    select array_agg(id) into made from created;
    perform {schema}.wake(q.queue)
    from (select distinct i.queue from unnest(items) i where i.state = 'waiting') q;
    return coalesce(made, '{}');
end
$$;

-- Enqueue from any language, inside the caller's own transaction:
--
--     select * from {schema}.enqueue('[{"queue": "email", "task": "send_receipt", "args": {"order_id": 7}}]');
--
-- `jobs` is an array of objects; only `task` must be given:
--     task          text      name of the registered task
--     queue         text      "default"
--     args          object    {}; or a string that holds the JSON text (a must where it has \u0000)
--     key           text      idempotency key; one job per (queue, task, key), for as long as `window` says
--     window        text      "record": while its record lives; "unfinished": until it ends; "started": until it is
--                             first claimed; "period": for `window_seconds` and until it ends; "debounce": until it is
--                             first claimed, and each newcomer replaces it and puts it off by its `window_seconds`
--     unique        boolean   false: the key is not enforced
--     priority      integer   1 critical, 2 high, 3 medium (default), 4 low
--     delay         number    seconds until due, 0
--     max_attempts  integer   3
--     owner         text
--     expire_after  number    seconds after the due time; then it is cancelled if it has not started
--     options       object    or a string that holds the JSON text
--     id            uuid      version 7; made here where not given
--     lane          text      the queue's open lane
--     ties          object    what it waits for: {"after": [["<id>", "fail"], …]} and more, see `tie`
-- Answers one row per job, in order: its id and state; `duplicate` where the key was taken, then id and
-- state are those of the job that holds it. `again`: an earlier call with these ids may have succeeded.
create function {schema}.enqueue(jobs json, again boolean default false, at timestamptz default null)
returns table (id text, state text, duplicate boolean)
language plpgsql set lock_timeout = '2s' as $$
#variable_conflict use_column
declare
    moment constant timestamptz := coalesce(at, clock_timestamp());
    items {schema}.jobs[];
    given uuid[];
    made uuid[] := '{}';
    ids uuid[];
    states text[];
    stale uuid[];
begin
    -- Without keys and ties, which is most of the time, it is one insert. The words may stand in a payload too: no
    -- harm.
    if not again and strpos(jobs::text, '"key"') = 0 and strpos(jobs::text, '"ties"') = 0 then
        return query
        with created as (
            insert into {schema}.jobs as j (
                id, queue, task, lane, state, args, priority, max_attempts, rank, created_at, due_at, expires_at,
                owner, options)
            select
                coalesce(g.id, {schema}.uuid7(moment)), coalesce(g.queue, 'default'), g.task,
                coalesce(g.lane, g.queue, 'default'), case when g.delay > 0 then 'delayed' else 'waiting' end,
                coalesce(g.args, '{}'), coalesce(g.priority, 3::smallint), coalesce(g.max_attempts, 3),
                {schema}.rank_of(d.due, coalesce(g.priority, 3::smallint)), moment, d.due,
                d.due + g.expire_after * interval '1 s', g.owner, g.options
            from json_to_recordset(jobs) as g (
                id uuid, queue text, task text, args text, priority smallint, delay double precision,
                max_attempts integer, owner text, expire_after double precision, options text, lane text),
                lateral (select moment + coalesce(g.delay, 0) * interval '1 s' as due) d
            returning j.id, j.queue, j.lane, j.state
        ),
        counted as (
            insert into {schema}.counts (queue, lane, state, n)
            select c.queue, nullif(c.lane, c.queue), c.state, count(*) from created c group by 1, 2, 3
        ),
        told as (
            insert into {schema}.lane_news (queue, lane)
            select distinct c.queue, c.lane from created c where strpos(c.lane, '>') > 0 and c.state = 'waiting'
        ),
        woken as (
            select count({schema}.wake(q.queue))
            from (select distinct c.queue from created c where c.state = 'waiting') q
        )
        select c.id::text, c.state::text, false from created c, woken;
        return;
    end if;

    items := array(select n from {schema}.new_jobs(jobs, moment) n);
    given := array(select i.id from unnest(items) i);
    for round in 1..10 loop
        -- Sorted, so that two batches with the same keys wait for each other and never in a circle.
        insert into {schema}.keys (queue, task, key, job_id, until)
        select distinct on (i.queue, i.task, i.key) i.queue, i.task, i.key, i.id,
            case when i.span = 'period' then moment + i.span_seconds * interval '1 s' end
        from unnest(items) with ordinality i
        where i.is_unique
            -- A job that gave its key up before the end does not get it again.
            and (i.span is null or not exists (select from {schema}.jobs o where o.id = i.id))
            and (not again or not exists (select from {schema}.finished o where o.id = i.id))
        order by i.queue, i.task, i.key, i.ordinality
        on conflict do nothing;

        made := made || {schema}.insert_jobs(array(
            select i from unnest(items) i
            where (not i.is_unique or exists (
                    select from {schema}.keys k
                    where k.queue = i.queue and k.task = i.task and k.key = i.key and k.job_id = i.id))
                and (not again or not exists (select from {schema}.finished o where o.id = i.id))
        ));

        if cardinality(made) = cardinality(items) and strpos(jobs::text, '"ties"') = 0 then
            return query select i.id::text, i.state::text, false from unnest(items) i;
            return;
        end if;

        -- One snapshot for both tables: a job on its way from one to the other is in exactly one of them.
        select array_agg(r.id order by i.ordinality), array_agg(r.state order by i.ordinality),
            array_agg(k.job_id) filter (where r.id is null)
        into ids, states, stale
        from unnest(items) with ordinality i
        left join {schema}.keys k on i.is_unique and k.queue = i.queue and k.task = i.task and k.key = i.key
        left join lateral (
            select f.id, f.state
            from (
                select o.id, o.state from {schema}.jobs o where o.id in (i.id, k.job_id)
                union all
                select o.id, o.state from {schema}.finished o
                where o.id = i.id or (o.id = k.job_id and (k.until is null or k.until > moment))
                union all
                select k.job_id, 'completed' where k.outlives and k.until > moment
            ) f
            order by f.id <> i.id limit 1
        ) r on true;
        if array_position(ids, null) is null and {schema}.put_off(items, ids, moment) then
            if strpos(jobs::text, '"ties"') > 0 and cardinality(made) > 0 then
                perform {schema}.tie(jobs, given, made, ids, moment);
            end if;
            return query
            select a.id::text, coalesce(j.state, f.state, a.state), a.id <> a.given
            from unnest(ids, states, given) with ordinality as a(id, state, given, nth)
            left join {schema}.jobs j on j.id = a.id
            left join {schema}.finished f on f.id = a.id
            order by a.nth;
            return;
        end if;

        -- The keys of jobs that are gone without a trace, or whose period is over, are free; those re-pointed
        -- meanwhile are not.
        delete from {schema}.keys k using unnest(items) i
        where i.is_unique and k.queue = i.queue and k.task = i.task and k.key = i.key
            and k.job_id = any(stale);
    end loop;
    raise serialization_failure using message = 'keys changed hands too often while enqueueing';
end
$$;

-- One job whose key nobody enforces: what `enqueue` does, without the cost of reading JSON. Answers the state.
create function {schema}.enqueue_one(
    id uuid, queue text, task text, lane text, args text, key text, priority smallint, max_attempts integer,
    delay double precision, expire_after double precision, owner text, options text, at timestamptz default null)
returns text
language plpgsql as $$
#variable_conflict use_variable
declare
    moment constant timestamptz := coalesce(at, clock_timestamp());
    due constant timestamptz := moment + delay * interval '1 s';
    state constant text := case when delay > 0 then 'delayed' else 'waiting' end;
begin
    insert into {schema}.jobs (
        id, queue, task, lane, state, args, key, priority, max_attempts, rank, created_at, due_at, expires_at,
        owner, options)
    values (
        id, queue, task, lane, state, args, key, priority, max_attempts, {schema}.rank_of(due, priority), moment,
        due, due + expire_after * interval '1 s', owner, options);
    insert into {schema}.counts (queue, lane, state, n) values (queue, nullif(lane, queue), state, 1);
    if state = 'waiting' then
        if strpos(lane, '>') > 0 then
            insert into {schema}.lane_news (queue, lane) values (queue, lane);
        end if;
        perform {schema}.wake(queue);
    end if;
    return state;
end
$$;
