-- Whether jobs wait in a queue for others to end: in limited lanes, or behind the limit of the queue.
create function {schema}.somebody_waits(queue text) returns boolean
language sql stable as $$
    select exists (select from {schema}.limited_lanes l where l.queue = somebody_waits.queue and l.head is not null)
        or exists (select from {schema}.lane_news n where n.queue = somebody_waits.queue and n.freed = 0)
        or exists (select from {schema}.groups g where g.name = somebody_waits.queue and g.declared)
            and exists (select from {schema}.jobs j where j.lane = somebody_waits.queue and j.state = 'waiting')
$$;

-- Those who wait for what a breaker held back.
create function {schema}.wake_behind(breaker text) returns void
language plpgsql as $$
begin
    perform {schema}.wake(q.queue)
    from (select distinct g.queue from {schema}.groups g where breaker = any(g.needs)) q;
end
$$;

-- Runs that counted as active have ended: their places are free, and the breakers their groups need are told.
create function {schema}.free_places(runs {schema}.ended_run[], moment timestamptz) returns void
language plpgsql as $$
declare
    told record;
begin
    insert into {schema}.lane_news (queue, lane, freed)
    select r.queue, r.lane, count(*) from unnest(runs) r group by 1, 2;
    for told in
        select t.breaker, array_agg(t.id::text) as permits, array_agg(t.healthy) as healths
        from (
            select distinct r.id, r.healthy, n.breaker
            from unnest(runs) r
            join {schema}.groups g on g.name = any({schema}.groups_of(r.queue, r.lane)), unnest(g.needs) as n(breaker)
        ) t
        group by 1 order by 1
    loop
        if {schema}.report_breaker(told.breaker, told.permits, told.healths, moment) then
            perform {schema}.wake_behind(told.breaker);
        end if;
    end loop;
end
$$;

-- What is left to do for jobs that completed and are not like most; `healths` has a letter for each of `ids`.
create function {schema}.completed(
    special {schema}.completed_job[], ids text, healths text, moment timestamptz) returns void
language plpgsql as $$
begin
    perform {schema}.give_key_up(s.queue, s.task, s.key, s.id)
    from unnest(special) s where s.span in ('unfinished', 'started', 'debounce');
    update {schema}.keys k set outlives = true from unnest(special) s
    where s.span = 'period' and not s.keep
        and k.queue = s.queue and k.task = s.task and k.key = s.key and k.job_id = s.id;
    delete from {schema}.steps o using unnest(special) s where s.stepped and not s.keep and o.job_id = s.id;
    perform {schema}.ended(array(
        select (s.id, 'completed', s.flow, s.feeds)::{schema}.ended_job from unnest(special) s where s.tied), moment);
    perform {schema}.free_places(array(
        select (s.id, s.queue, s.lane, nullif(h.healthy, '-')::boolean)::{schema}.ended_run
        from unnest(special) s
        left join unnest(string_to_array(ids, ' ')::uuid[], string_to_array(healths, null)) as h(id, healthy)
            on h.id = s.id
        where s.limited), moment);
end
$$;

-- Count what runs, under the lock of the queue. Runs that began before there was a limit count from now on.
create function {schema}.recount(queue text, moment timestamptz) returns void
language plpgsql as $$
#variable_conflict use_variable
declare
    changed text[];
begin
    -- Who just ends is left out: nobody who holds the lock may wait for a job.
    update {schema}.jobs j set limited = true
    where j.ctid = any(array(
        select o.ctid from {schema}.jobs o
        where o.queue = queue and o.state = 'active' and not o.limited and (
            strpos(o.lane, '>') > 0
            or exists (select from {schema}.groups g where g.name = queue and g.declared))
        for update skip locked));
    -- In one snapshot: of a run that has ended either the job is still counted, or its place is not freed twice.
    with freed as (
        delete from {schema}.lane_news n where n.queue = queue and n.freed > 0
        returning n.lane, n.cooled_until
    ),
    cooled as (
        insert into {schema}.lane_news (queue, lane, cooled_until)
        select queue, f.lane, f.cooled_until from freed f where f.cooled_until is not null
    ),
    runs as materialized (
        select j.lane, count(*) as n from {schema}.jobs j
        where j.queue = queue and j.state = 'active' and j.limited group by 1
    ),
    of_groups as (
        update {schema}.groups g
        set active = (select coalesce(sum(r.n), 0) from runs r
                      where g.name = queue or strpos(r.lane, '>') > 0 and {schema}.group_of(r.lane) = g.name)
        where g.queue = queue
    ),
    of_lanes as (
        update {schema}.limited_lanes l set active = t.n
        from (
            select o.lane, coalesce(r.n, 0) as n from {schema}.limited_lanes o left join runs r on r.lane = o.lane
            where o.queue = queue and o.active <> coalesce(r.n, 0)
        ) t
        where l.lane = t.lane
        returning l.lane
    )
    select array_agg(lane) into changed from of_lanes;
    perform {schema}.look_at_lanes(changed, moment);
end
$$;

-- Groups have ceased to need breakers which jobs of theirs probe: nobody will tell how that ends.
create function {schema}.forget_probes() returns void
language plpgsql as $$
declare
    breaker text;
begin
    for breaker in
        with needed as (
            select o.name, coalesce(jsonb_object_agg(p.key, p.value) filter (
                where case when p.value <> 'null' then true else exists (
                    select from {schema}.jobs j
                    join {schema}.groups g on g.name = any({schema}.groups_of(j.queue, j.lane))
                    where j.id = p.key::uuid and o.name = any(g.needs)) end), '{}') as probing
            from {schema}.breakers o, jsonb_each(o.probing) p group by 1
        )
        update {schema}.breakers o set probing = n.probing
        from needed n where n.name = o.name and n.probing <> o.probing
        returning o.name
    loop
        perform {schema}.wake_behind(breaker);
    end loop;
end
$$;

-- Declare limits: what runs and what was spent is kept. Nothing is done for those that are as they were.
create function {schema}.put_groups(given json, at timestamptz default null) returns void
language plpgsql as $$
declare
    moment constant timestamptz := coalesce(at, now());
    changed text[];
    place record;
begin
    -- As those who end runs do: first the breakers.
    perform from {schema}.breakers b where b.probing <> '{}' order by b.name for update;
    perform {schema}.hold_limits(array(select g ->> 'queue' from json_array_elements(given) g));
    with stored as (
        insert into {schema}.groups as o (
            name, queue, declared, rate, burst, concurrency, said, key_rate, key_burst, key_concurrency, key_said, needs)
        select distinct on (g.name) g.name, g.queue, true, g.rate, g.burst, g.concurrency, g.said, g.key_rate,
            g.key_burst, g.key_concurrency, g.key_said, array(select json_array_elements_text(g.needs))
        from json_to_recordset(given) as g (
            name text, queue text, rate double precision, burst integer, concurrency integer, said text,
            key_rate double precision, key_burst integer, key_concurrency integer, key_said text, needs json)
        order by g.name
        on conflict (name) do update
        set declared = true, rate = excluded.rate, burst = excluded.burst, concurrency = excluded.concurrency,
            said = excluded.said, key_rate = excluded.key_rate, key_burst = excluded.key_burst,
            key_concurrency = excluded.key_concurrency, key_said = excluded.key_said, needs = excluded.needs
        where (o.declared, o.rate, o.burst, o.concurrency, o.said, o.key_rate, o.key_burst, o.key_concurrency,
                o.key_said, o.needs)
            is distinct from (true, excluded.rate, excluded.burst, excluded.concurrency, excluded.said,
                excluded.key_rate, excluded.key_burst, excluded.key_concurrency, excluded.key_said, excluded.needs)
        returning o.name
    )
    select array_agg(name) into changed from stored;
    -- To the hour: mostly nothing is written.
    update {schema}.groups o set declared_at = moment
    where o.declared_at <= moment - interval '1 hour' and o.name in (select g ->> 'name' from json_array_elements(given) g);
    if changed is not null then
        perform {schema}.forget_probes();
    end if;
    for place in
        select distinct g.queue from {schema}.groups g where g.name = any(changed) order by 1
    loop
        perform {schema}.fold_lane_news(array[place.queue], moment);
        perform {schema}.recount(place.queue, moment);
        perform {schema}.wake(place.queue);
    end loop;
    perform {schema}.look_at_lanes(array(
        select l.lane from {schema}.limited_lanes l where l.grp = any(changed) and l.head is not null), moment);
end
$$;

create function {schema}.bounds_nothing(g {schema}.groups) returns boolean
language sql immutable as $$
    select g.rate is null and g.concurrency is null and g.key_rate is null and g.key_concurrency is null and g.needs = '{}'
$$;

-- Bring the limits of a queue up to date, and drop what is empty and worked off.
create function {schema}.tidy_limits(queue text, at timestamptz default null) returns void
language plpgsql as $$
#variable_conflict use_variable
declare
    moment constant timestamptz := coalesce(at, now());
    now constant double precision := {schema}.seconds(moment);
begin
    perform {schema}.hold_limits(array[queue]);
    perform {schema}.fold_lane_news(array[queue], moment);
    perform {schema}.recount(queue, moment);
    delete from {schema}.limited_lanes l
    where l.queue = queue and l.head is null and l.active = 0
        and greatest(l.spent_until, l.cooled_until) <= now
        and l.owes_until <= now + coalesce((select t.ahead from {schema}.turns t where t.queue = queue), 0)
        and not exists (select from {schema}.lane_news n where n.queue = queue and n.lane = l.lane)
        and not exists (select from {schema}.jobs j where j.lane = l.lane and j.state = 'waiting');
    delete from {schema}.groups g
    where g.queue = queue and g.active = 0 and greatest(g.spent_until, g.cooled_until) <= now
        and (not g.declared or g.declared_at <= moment - interval '7 days'
             or {schema}.bounds_nothing(g))
        and not exists (select from {schema}.limited_lanes l where l.grp = g.name)
        and not (g.declared and g.name = g.queue and exists (
            select from {schema}.jobs j where j.queue = g.queue and j.state in ('waiting', 'active')));
end
$$;
