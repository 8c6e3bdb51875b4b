-- How many more may start under all of these breakers; null: no bound. Those that are not closed are held until the
-- end of the transaction; one that somebody else holds lets nothing start, and is worth asking for again soon.
create function {schema}.hold_breakers(
    needs text[], moment timestamptz, out room integer, out retry_in double precision)
language plpgsql as $$
declare
    breaker text;
    b {schema}.breakers;
begin
    for breaker in
        select o.name from {schema}.breakers o where o.name = any(needs) and o.circuit <> 'closed' order by o.name
    loop
        select * into b from {schema}.breakers o where o.name = breaker for update skip locked;
        if not found then
            room := 0;
            retry_in := least(retry_in, 0.05);
            return;
        end if;
        b := {schema}.breaker_at(b, moment);
        room := least(room, {schema}.breaker_room(b));
        if b.circuit = 'open' then
            retry_in := greatest(retry_in, {schema}.seconds(b.since + b.reset) - {schema}.seconds(moment));
        end if;
    end loop;
end
$$;

-- Jobs that were claimed under breakers, which are held: under a half-open one each is a probe, until it is reported.
create function {schema}.enter_breakers(needs text[], jobs {schema}.jobs[], moment timestamptz) returns void
language plpgsql as $$
declare
    b {schema}.breakers;
begin
    for b in
        select o.* from {schema}.breakers o where o.name = any(needs) and o.circuit <> 'closed' order by o.name
    loop
        b := {schema}.breaker_at(b, moment);
        b.probing := b.probing || (select jsonb_object_agg(j.id::text, null::text) from unnest(jobs) j);
        perform {schema}.write_breaker(b);
    end loop;
end
$$;

-- After how many seconds more may be had, where only time is needed.
create function {schema}.next_opening(queues text[], behind text[], moment timestamptz) returns double precision
language sql stable as $$
    with n as (select {schema}.seconds(moment) as now),
    q as (
        select w.queue, w.queue <> all(behind) and coalesce({schema}.room(
                g.rate, g.burst, g.concurrency, g.active, g.spent_until, g.cooled_until, n.now) > 0, true) as open,
            {schema}.opens_at(g.rate, g.burst, g.concurrency, g.active, g.spent_until, g.cooled_until,
                coalesce({schema}.a_few(g.rate, g.burst), 1)) - n.now as opens_in
        from unnest(queues) as w(queue) cross join n left join {schema}.groups g on g.name = w.queue
        where not exists (select from {schema}.queues p where p.name = w.queue and p.paused)
    ),
    g as (
        select o.*, {schema}.room(
                o.rate, o.burst, o.concurrency, o.active, o.spent_until, o.cooled_until, n.now) > 0 as open,
            {schema}.opens_at(o.rate, o.burst, o.concurrency, o.active, o.spent_until, o.cooled_until,
                coalesce({schema}.a_few(o.rate, o.burst), 1)) - n.now as opens_in
        from q cross join n join {schema}.groups o on o.queue = q.queue and o.name <> q.queue
        where q.open and o.name <> all(behind) and exists (
            select from {schema}.limited_lanes l where l.grp = o.name and l.head is not null)
    )
    select min(t.opens_in) from (
        select q.opens_in from q
        where not q.open and (
            exists (select from {schema}.limited_lanes l where l.queue = q.queue and l.head is not null)
            or exists (select from {schema}.jobs j where j.lane = q.queue and j.state = 'waiting'))
        union all
        select g.opens_in from g where not g.open
        union all
        select s.opens_in from g cross join n cross join lateral (
            select {schema}.opens_at(g.key_rate, g.key_burst, g.key_concurrency, l.active, l.spent_until,
                l.cooled_until, coalesce({schema}.a_few(g.key_rate, g.key_burst), 1)) - n.now as opens_in
            from {schema}.limited_lanes l
            where l.grp = g.name and l.head is not null and l.shut_until is not null and l.keyed
            order by l.shut_until limit 1
        ) s
        where g.open
    ) t
    where t.opens_in > 0 and t.opens_in < 'infinity'
$$;

-- Claim from queues of which some have limits. Groups behind a breaker that is not closed come first, each for itself:
-- they may have a few probes. `more`: what was asked for was had, and there may be more.
create function {schema}.claim_limited(
    claimer text, claim_request text, queues text[], most integer[], most_of_all integer, free integer,
    tasks text[], fingerprints text[], at timestamptz,
    out claimed {schema}.jobs[], out next_in double precision, out more boolean
) language plpgsql as $$
declare
    limited constant text[] := {schema}.limited_queues(queues, coalesce(at, clock_timestamp()));
    moment timestamptz;
    behind text[];
    scope record;
    gate record;
    taken {schema}.jobs[];
    left_over integer[] := most;
    left_free integer := free;
begin
    claimed := '{}';
    perform {schema}.hold_limits(limited);
    moment := coalesce(at, clock_timestamp());
    perform {schema}.fold_lane_news(limited, moment);
    perform {schema}.reopen_lanes(limited, moment);
    behind := array(
        select g.name from {schema}.groups g
        where g.queue = any(limited) and g.needs <> '{}' and exists (
            select from {schema}.breakers b where b.name = any(g.needs) and b.circuit <> 'closed')
        order by g.name);
    for scope in
        select g.name, g.queue, g.needs || coalesce(q.needs, '{}') as needs
        from {schema}.groups g left join {schema}.groups q on q.name = g.queue
        where g.name = any(behind) and (g.name = g.queue or exists (
            select from {schema}.limited_lanes l where l.grp = g.name and l.head is not null))
        order by g.name
    loop
        gate := {schema}.hold_breakers(scope.needs, moment);
        next_in := least(next_in, gate.retry_in);
        if gate.room > 0 then
            taken := {schema}.claim_by_turns(
                claimer, claim_request, queues, left_over, least(gate.room, most_of_all - cardinality(claimed)),
                left_free, tasks, fingerprints, scope.name, behind, moment, at);
            if cardinality(taken) > 0 then
                perform {schema}.enter_breakers(scope.needs, taken, moment);
                claimed := claimed || taken;
                left_free := left_free - cardinality(taken);
                left_over[array_position(queues, scope.queue)] :=
                    left_over[array_position(queues, scope.queue)] - cardinality(taken);
            end if;
        end if;
    end loop;
    claimed := claimed || {schema}.claim_by_turns(
        claimer, claim_request, queues, left_over, most_of_all - cardinality(claimed), left_free, tasks, fingerprints,
        null, behind, moment, at);
    more := cardinality(claimed) >= most_of_all
        or (select count(*) from unnest(claimed) c where c.limited) >= free;
    next_in := least(next_in, {schema}.next_opening(limited, behind, moment));
end
$$;

-- One round after the other, as long as lanes are found other than they were thought to be.
create function {schema}.claim_by_turns(
    claimer text, claim_request text, queues text[], most integer[], most_of_all integer, free integer,
    tasks text[], fingerprints text[], scope text, behind text[], moment timestamptz,
    at timestamptz) returns {schema}.jobs[]
language plpgsql as $$
declare
    claimed {schema}.jobs[] := '{}';
    choice record;
    bounds integer[] := most;
begin
    for round in 1..20 loop
        exit when most_of_all <= cardinality(claimed);
        choice := {schema}.choose_by_turns(
            queues, bounds, most_of_all - cardinality(claimed),
            free - (select count(*)::integer from unnest(claimed) c where c.limited), tasks, fingerprints, scope,
            behind, moment);
        claimed := claimed || {schema}.start_chosen(claimer, claim_request, choice.chosen, moment, at);
        exit when cardinality(choice.mistaken) = 0;
        perform {schema}.look_at_lanes(choice.mistaken, moment);
        bounds := array(
            select w.most - (select count(*)::integer from unnest(claimed) c where c.queue = w.queue)
            from unnest(queues, most) with ordinality as w(queue, most, nth) order by w.nth);
    end loop;
    return claimed;
end
$$;
