-- The breakers that jobs of these queues wait behind and that are not closed, and how many more may start under each.
-- They are held until the end of the transaction; one that somebody else holds (`busy`) lets nothing start.
create function {schema}.hold_breakers(
    queues text[], moment timestamptz, out names text[], out rooms integer[], out busy boolean)
language plpgsql as $$
declare
    breaker text;
    b {schema}.breakers;
begin
    names := '{}';
    rooms := '{}';
    busy := false;
    for breaker in
        select o.name from {schema}.breakers o
        where o.circuit <> 'closed' and exists (
            select from {schema}.groups g
            where g.queue = any(queues) and o.name = any(g.needs) and (g.name = g.queue or exists (
                select from {schema}.limited_lanes l where l.grp = g.name and l.head is not null)))
        order by o.name
    loop
        select * into b from {schema}.breakers o where o.name = breaker for update skip locked;
        busy := busy or not found;
        names := names || breaker;
        rooms := rooms || case when found then coalesce(
            {schema}.breaker_room({schema}.breaker_at(b, moment)), 1000000) else 0 end;
    end loop;
end
$$;

-- Jobs that were claimed behind breakers, which are held: behind a half-open one each is a probe, until it is reported.
create function {schema}.enter_breakers(names text[], jobs {schema}.jobs[], moment timestamptz) returns void
language plpgsql as $$
declare
    b {schema}.breakers;
    probes jsonb;
begin
    for b in select o.* from {schema}.breakers o where o.name = any(names) order by o.name loop
        select jsonb_object_agg(j.id::text, null::text) into probes from unnest(jobs) j
        where exists (
            select from {schema}.groups g
            where g.name = any({schema}.groups_of(j.queue, j.lane)) and b.name = any(g.needs));
        if probes is not null then
            b := {schema}.breaker_at(b, moment);
            b.probing := b.probing || probes;
            perform {schema}.write_breaker(b);
        end if;
    end loop;
end
$$;

-- Whether a group lets something start, by its limit and its breakers; else after how many seconds it may, infinity
-- where a run must end first.
create function {schema}.outlook(g {schema}.groups, moment timestamptz, out open boolean, out opens_in double precision)
language plpgsql stable as $$  -- so that it is planned once
#variable_conflict use_column
begin
    with n as (select {schema}.seconds(moment) as now),
    l as (
        select {schema}.room(g.rate, g.burst, g.concurrency, g.active, g.spent_until, g.cooled_until, n.now) > 0 as open,
            {schema}.opens_at(g.rate, g.burst, g.concurrency, g.active, g.spent_until, g.cooled_until,
                coalesce({schema}.a_few(g.rate, g.burst), 1)) - n.now as opens_in
        from n
    ),
    b as (
        select bool_and(coalesce({schema}.breaker_room(s) > 0, true)) as open,
            max(case when s.circuit = 'open' then {schema}.seconds(s.since + s.reset) - n.now
                     when {schema}.breaker_room(s) = 0 then 'infinity' end) as opens_in
        from n, {schema}.breakers o, {schema}.breaker_at(o, moment) s
        where o.name = any(g.needs) and o.circuit <> 'closed'
    )
    select l.open and coalesce(b.open, true), greatest(case when not l.open then l.opens_in end, b.opens_in)
    into outlook.open, outlook.opens_in from l, b;
end
$$;

-- Whether jobs of a group wait in lanes where no run must end first.
create function {schema}.needs_only_time(grp text) returns boolean
language sql stable as $$
    select exists (
            select from {schema}.limited_lanes l
            where l.grp = needs_only_time.grp and l.head is not null and l.shut_until is null)
        or exists (
            select from {schema}.limited_lanes l
            where l.grp = needs_only_time.grp and l.head is not null and l.shut_until < 'infinity')
$$;

-- After how many seconds more may be had, where only time is needed: of a queue that lets nothing start, else of its
-- groups that do not, else of their lanes.
create function {schema}.next_opening(
    queues text[], tasks text[], fingerprints text[], moment timestamptz) returns double precision
language plpgsql stable as $$
begin
    return (with q as (
        select w.queue, coalesce(s.open, true) as open, s.opens_in
        from unnest(queues) as w(queue)
        left join {schema}.groups g on g.name = w.queue
        left join lateral {schema}.outlook(g, moment) s on g.name is not null
        where not exists (select from {schema}.queues p where p.name = w.queue and p.paused)
    ),
    g as (
        select o.*, s.open, s.opens_in
        from q join {schema}.groups o on o.queue = q.queue and o.name <> q.queue
        cross join lateral {schema}.outlook(o, moment) s
        where q.open and {schema}.needs_only_time(o.name)
    )
    select min(t.opens_in) from (
        select q.opens_in from q
        where not q.open and (
            exists (
                select from {schema}.groups o
                where o.queue = q.queue and o.name <> q.queue and {schema}.needs_only_time(o.name))
            or exists (
                select from {schema}.open_lanes(array[q.queue], tasks, fingerprints) o
                where exists (
                    select from {schema}.jobs j
                    where j.lane = o.lane and j.state = 'waiting' and (j.expires_at is null or j.expires_at > moment))))
        union all
        select g.opens_in from g where not g.open
        union all
        select s.opens_in from g cross join lateral (
            select {schema}.opens_at(g.key_rate, g.key_burst, g.key_concurrency, l.active, l.spent_until,
                l.cooled_until, coalesce({schema}.a_few(g.key_rate, g.key_burst), 1)) - {schema}.seconds(moment) as opens_in
            from {schema}.limited_lanes l
            where l.grp = g.name and l.head is not null and l.shut_until is not null and l.keyed
            order by l.shut_until limit 1
        ) s
        where g.open
    ) t
    where t.opens_in > 0 and t.opens_in < 'infinity');
end
$$;

-- Claim from queues of which some have limits, one round after the other, as long as lanes are found other than they
-- were thought to be. `more`: what was asked for was had, and there may be more.
create function {schema}.claim_limited(
    claimer text, claim_request text, queues text[], most integer[], most_of_all integer, free integer,
    tasks text[], fingerprints text[], at timestamptz,
    out claimed {schema}.jobs[], out next_in double precision, out more boolean
) language plpgsql as $$
declare
    soon constant double precision := 0.05;  -- when a breaker that somebody holds is worth asking for again
    limited constant text[] := {schema}.limited_queues(queues, coalesce(at, clock_timestamp()));
    moment timestamptz;
    breakers record;
    choice record;
    started {schema}.jobs[];
    bounds integer[] := most;
    busy boolean := false;
begin
    claimed := '{}';
    perform {schema}.hold_limits(limited);
    moment := coalesce(at, clock_timestamp());
    perform {schema}.fold_lane_news(limited, moment);
    perform {schema}.reopen_lanes(limited, moment);
    for round in 1..20 loop
        exit when most_of_all <= cardinality(claimed);
        breakers := {schema}.hold_breakers(limited, moment);
        busy := busy or breakers.busy;
        if round = 1 then
            perform {schema}.forgive_debts(
                array(select w.queue from unnest(queues, most) as w(queue, most) where w.most > 0 and w.queue = any(limited)),
                breakers.names, breakers.rooms, moment);
        end if;
        choice := {schema}.choose_by_turns(
            queues, bounds, most_of_all - cardinality(claimed),
            free - (select count(*)::integer from unnest(claimed) c where c.limited), tasks, fingerprints,
            breakers.names, breakers.rooms, moment);
        started := {schema}.start_chosen(claimer, claim_request, choice.chosen, moment);
        perform {schema}.enter_breakers(breakers.names, started, moment);
        claimed := claimed || started;
        exit when cardinality(choice.mistaken) = 0;
        perform {schema}.look_at_lanes(choice.mistaken, moment);
        bounds := array(
            select w.most - (select count(*)::integer from unnest(claimed) c where c.queue = w.queue)
            from unnest(queues, most) with ordinality as w(queue, most, nth) order by w.nth);
    end loop;
    more := cardinality(claimed) >= most_of_all
        or (select count(*) from unnest(claimed) c where c.limited) >= free;
    next_in := least({schema}.next_opening(limited, tasks, fingerprints, moment), case when busy then soon end);
end
$$;
