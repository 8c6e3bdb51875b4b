-- Which of these queues have limits that a claim must look at.
create function {schema}.limited_queues(queues text[], moment timestamptz) returns text[]
language sql stable as $$
    select array(
        select q.queue from unnest(queues) as q(queue)
        where exists (
                select from {schema}.groups g where g.name = q.queue and (
                    g.cooled_until > {schema}.seconds(moment)
                    or g.declared and (g.rate is not null or g.concurrency is not null or g.needs <> '{}')))
            or exists (select from {schema}.limited_lanes l where l.queue = q.queue and l.head is not null)
            or exists (select from {schema}.lane_news n where n.queue = q.queue))
$$;

-- Which of these breakers a group needs, by their places, and how many may start under all of them; null: no bound.
create function {schema}.gates(
    needs text[], breakers text[], rooms integer[], out gates integer[], out room integer)
language sql immutable as $$
    select coalesce(array_agg(b.nth::integer), '{}'), min(b.room)
    from unnest(breakers, rooms) with ordinality as b(name, room, nth) where b.name = any(needs)
$$;

-- The open lanes of these queues, and what is parked there for a worker that knows these tasks by these signatures.
create function {schema}.open_lanes(queues text[], tasks text[], fingerprints text[])
returns table (lane text, queue text)
language sql stable as $$
    select q.queue, q.queue from unnest(queues) as q(queue)
    union all
    select p.lane, p.queue from {schema}.lanes p
    join unnest(tasks, fingerprints) as t(task, fingerprint)
        on t.task = p.task and t.fingerprint <> all (string_to_array(coalesce(p.misfit, ''), ','))
    where p.queue = any(queues)
$$;

-- Where every lane of a queue that may start something owes, the least that one of them does is forgiven to all.
create function {schema}.forgive_debts(
    queues text[], breakers text[], breaker_rooms integer[], moment timestamptz) returns void
language plpgsql as $$
declare
    now constant double precision := {schema}.seconds(moment);
    forgiven text[];
begin
    with q as (
        select w.queue, coalesce(g.needs, '{}') as needs
        from unnest(queues) as w(queue)
        left join {schema}.groups g on g.name = w.queue
        where {schema}.room(g.rate, g.burst, g.concurrency, g.active, g.spent_until, g.cooled_until, now) > 0
            and not exists (select from {schema}.queues p where p.name = w.queue and p.paused)
    ),
    owing as (
        select o.queue, min(case
            when exists (
                select from {schema}.limited_lanes l
                where l.grp = o.name and l.line = 0 and l.head is not null and l.shut_until is null) then 0
            else (
                select min(l.owes_until) from {schema}.limited_lanes l
                where l.grp = o.name and l.line > 0 and l.head is not null and l.shut_until is null)
            end) as until
        from q
        join {schema}.groups o on o.queue = q.queue and o.name <> q.queue
        cross join {schema}.gates(o.needs || q.needs, breakers, breaker_rooms) b
        where coalesce(b.room, 1) > 0 and {schema}.room(
            o.rate, o.burst, o.concurrency, o.active, o.spent_until, o.cooled_until, now) > 0
        group by 1
    ),
    written as (
        insert into {schema}.turns as t (queue, ahead)
        select o.queue, o.until - now from owing o left join {schema}.turns t on t.queue = o.queue
        where o.until > now + coalesce(t.ahead, 0)
        on conflict (queue) do update set ahead = excluded.ahead
        returning t.queue
    )
    select array_agg(w.queue) into forgiven from written w;
    if forgiven is not null then
        perform {schema}.reopen_lanes(forgiven, moment);
    end if;
end
$$;

-- What a claim takes, one job after the other over all lanes, by their turns and within their limits; and lanes that
-- were found shut or empty. `breakers` are those that are not closed, and how many each lets start.
create function {schema}.choose_by_turns(
    queues text[], most integer[], most_of_all integer, free integer, tasks text[], fingerprints text[],
    breakers text[], breaker_rooms integer[], moment timestamptz, out chosen uuid[], out mistaken text[]
) language plpgsql as $$
declare
    now constant double precision := {schema}.seconds(moment);
    taken integer[] := array_fill(0, array[cardinality(queues)]);
    rooms integer[] := breaker_rooms;
    left_free integer := free;
    job record;
    breaker integer;
begin
    chosen := '{}';
    mistaken := '{}';
    for job in
        with q as (
            select w.queue, w.nth, coalesce(g.needs, '{}') as needs, b.gates, g.name is not null and (
                    g.rate is not null or g.concurrency is not null or g.needs <> '{}') as limited,
                least(w.most, most_of_all, b.room, {schema}.room(
                    g.rate, g.burst, g.concurrency, g.active, g.spent_until, g.cooled_until, now)) as room
            from unnest(queues, most) with ordinality as w(queue, most, nth)
            left join {schema}.groups g on g.name = w.queue
            cross join {schema}.gates(g.needs, breakers, breaker_rooms) b
            where not exists (select from {schema}.queues p where p.name = w.queue and p.paused)
        ),
        g as (
            select o.*, b.gates, q.nth as queue_nth, q.room as queue_room,
                now + coalesce(t.ahead, 0) as debt_clock, least(q.room, b.room, {schema}.room(
                o.rate, o.burst, o.concurrency, o.active, o.spent_until, o.cooled_until, now)) as room
            from q join {schema}.groups o on o.queue = q.queue and o.name <> q.queue
            left join {schema}.turns t on t.queue = q.queue
            cross join {schema}.gates(o.needs || q.needs, breakers, breaker_rooms) b
            where q.room > 0
        ),
        l as materialized (
            select g.name as grp, g.queue_nth, g.queue_room, g.gates, g.room as group_room, f.lane,
                greatest(f.owes_until - g.debt_clock, 0) as owed,
                {schema}.room(
                    case when f.keyed then g.key_rate end, g.key_burst, case when f.keyed then g.key_concurrency end,
                    f.active, f.spent_until, f.cooled_until, now) as room
            from g, lateral (
                (select s.* from {schema}.limited_lanes s
                 where s.grp = g.name and s.head is not null and s.shut_until is null and s.line = 0
                 order by s.turn limit most_of_all)
                union all
                (select s.* from {schema}.limited_lanes s
                 where s.grp = g.name and s.head is not null and s.shut_until is null and s.line = 1
                 order by s.turn limit most_of_all)
                union all
                (select s.* from {schema}.limited_lanes s
                 where s.grp = g.name and s.head is not null and s.shut_until is null and s.line = 2
                 order by s.turn limit most_of_all)
            ) f
            where g.room > 0
        ),
        in_lanes as materialized (
            select l.grp, l.queue_nth, l.queue_room, l.gates, l.group_room, l.lane, j.id,
                greatest({schema}.seconds(j.rank), now - 900) + l.owed + 10 * (j.nth - 1) as turn
            from l, lateral (
                select c.id, c.rank, row_number() over (order by c.rank, c.id) as nth
                from (
                    select o.id, o.rank from {schema}.jobs o
                    where o.lane = l.lane and o.state = 'waiting' and (o.expires_at is null or o.expires_at > moment)
                    order by o.rank, o.id limit least(l.room, l.group_room, most_of_all)
                ) c
            ) j
        ),
        open_lanes as (
            select o.lane, q.nth, q.room, q.gates, q.limited
            from {schema}.open_lanes(queues, tasks, fingerprints) o join q on q.queue = o.queue
        )
        select n.id, n.turn, true as limited, n.queue_nth, n.queue_room, n.gates, null as mistaken from (
            select i.*, row_number() over (partition by i.grp order by i.turn, i.id) as nth from in_lanes i
        ) n
        where n.nth <= n.group_room
        union all
        select j.id, greatest({schema}.seconds(j.rank), now - 900), o.limited, o.nth, o.room, o.gates, null
        from open_lanes o, lateral (
            select c.id, c.rank from {schema}.jobs c
            where c.lane = o.lane and c.state = 'waiting' and (c.expires_at is null or c.expires_at > moment)
            order by c.rank, c.id limit o.room
        ) j
        union all
        select null, '-infinity', null, null, null, null, l.lane
        from l where l.room = 0 or not exists (select from in_lanes i where i.lane = l.lane)
        order by 2, 1
    loop
        if job.mistaken is not null then
            mistaken := mistaken || job.mistaken;
            continue;
        end if;
        exit when cardinality(chosen) >= most_of_all;
        continue when taken[job.queue_nth] >= job.queue_room or job.limited and left_free <= 0;
        if job.gates <> '{}' then
            continue when exists (select from unnest(job.gates) as g(nth) where rooms[g.nth] <= 0);
            foreach breaker in array job.gates loop
                rooms[breaker] := rooms[breaker] - 1;
            end loop;
        end if;
        chosen := chosen || job.id;
        taken[job.queue_nth] := taken[job.queue_nth] + 1;
        if job.limited then
            left_free := left_free - 1;
        end if;
    end loop;
end
$$;

-- Claim these; what they take of the limits is written in the same step.
create function {schema}.start_chosen(claimer text, claim_request text, chosen uuid[], moment timestamptz)
returns {schema}.jobs[]
language plpgsql as $$
declare
    now constant double precision := {schema}.seconds(moment);
    claimed {schema}.jobs[];
begin
    with held as (
        select j.ctid as place from {schema}.jobs j
        where j.id = any(chosen) and j.state || '' = 'waiting' for update skip locked
    ),
    started as (
        update {schema}.jobs j
        set state = 'active', token = gen_random_uuid(), worker = claimer, request = claim_request,
            -- When the limits were judged, so that what started in a time can be counted; but never before it
            -- was due: a job may have come free since.
            claimed_at = greatest(moment, j.due_at),
            started_at = coalesce(j.started_at, greatest(moment, j.due_at)), attempt = j.attempt + 1,
            limited = strpos(j.lane, '>') > 0 or exists (
                select from {schema}.groups g where g.name = j.queue and g.declared)
        where j.ctid = any(array(select place from held))
        returning j as job
    )
    select array_agg(s.job order by array_position(chosen, (s.job).id)) into claimed from started s;
    if claimed is null then
        return '{}';
    end if;

    insert into {schema}.counts (queue, lane, state, n)
    select c.queue, nullif(c.lane, c.queue), 'waiting', -count(*) from unnest(claimed) c group by 1, 2
    union all
    select c.queue, null, 'active', count(*) from unnest(claimed) c group by 1;
    perform {schema}.give_key_up(c.queue, c.task, c.key, c.id)
    from unnest(claimed) c where c.span in ('started', 'debounce');
    update {schema}.groups g
    set active = g.active + c.n,
        spent_until = case when g.rate is null then g.spent_until else greatest(g.spent_until, now) + c.n / g.rate end
    from (
        select t.name, count(*) as n
        from (
            select {schema}.group_of(c.lane) as name from unnest(claimed) c where strpos(c.lane, '>') > 0
            union all
            select c.queue from unnest(claimed) c
        ) t
        group by 1
    ) c
    where g.name = c.name;
    update {schema}.limited_lanes l
    set active = l.active + c.n, 
        owes_until = greatest(l.owes_until, now + coalesce(t.ahead, 0)) + 10 * c.n,
        spent_until = case when l.keyed and g.key_rate is not null
                           then greatest(l.spent_until, now) + c.n / g.key_rate else l.spent_until end
    from (select c.lane, c.queue, count(*) as n from unnest(claimed) c group by 1, 2) c
    left join {schema}.turns t on t.queue = c.queue, {schema}.groups g
    where l.lane = c.lane and g.name = l.grp;
    perform {schema}.look_at_lanes(array(select distinct c.lane from unnest(claimed) c), moment);
    return claimed;
end
$$;
