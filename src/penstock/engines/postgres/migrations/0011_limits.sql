-- Limits: groups of lanes, and the lanes. Those of a queue are read and written under one lock, `hold_limits`, by
-- claims and by who declares or tidies. All others, which may sit in a long transaction, leave word in `lane_news`: jobs that
-- wait in a limited lane now, places that are free again, cooldowns. So nobody waits for a lane, and a claim may
-- take an active job for one that runs still, but never the other way round.
-- Instants are seconds since the epoch, as in `model/limits.py`.
create table {schema}.groups (
    name text primary key,
    queue text not null,
    declared boolean not null default false,
    declared_at timestamptz not null default '-infinity',  -- for the last time
    rate double precision,
    burst integer not null default 1,
    concurrency integer,
    said text not null default '',
    key_rate double precision,
    key_burst integer not null default 1,
    key_concurrency integer,
    key_said text not null default '',
    needs text[] not null default '{}',
    active bigint not null default 0,
    spent_until double precision not null default 0,
    cooled_until double precision not null default 0
) with (fillfactor = 50);
create index groups_queue on {schema}.groups (queue);

create table {schema}.limited_lanes (
    lane text primary key,
    queue text not null,
    grp text not null,
    keyed boolean not null,
    active bigint not null default 0,
    spent_until double precision not null default 0,
    cooled_until double precision not null default 0,
    owes_until double precision not null default 0,
    line smallint not null default 0,  -- 0: it owes nothing; 1: it does; 2: and its head is older than counts
    head double precision,  -- the rank of its first waiting job; null: there is none
    turn double precision,  -- by which its line is in order: the head; the head and until when it owes; the latter alone
    shut_until double precision  -- null: it is open; infinity: until a run has ended
) with (fillfactor = 50);
create index limited_lanes_group on {schema}.limited_lanes (grp, lane collate "C");
create index limited_lanes_turn on {schema}.limited_lanes (grp, line, turn)
    where head is not null and shut_until is null;
create index limited_lanes_shut on {schema}.limited_lanes (grp, shut_until)
    where head is not null and shut_until is not null;
create index limited_lanes_owing on {schema}.limited_lanes (grp, owes_until)
    where line > 0 and head is not null and shut_until is null;
create index limited_lanes_ageing on {schema}.limited_lanes (grp, head)
    where line = 1 and head is not null and shut_until is null;
create index limited_lanes_waiting on {schema}.limited_lanes (queue) where head is not null;

-- The clock on which the lanes of a queue work off what they owe: how far it is ahead of the time.
create table {schema}.turns (
    queue text primary key,
    ahead double precision not null
) with (fillfactor = 50);

create table {schema}.lane_news (
    queue text not null,
    lane text not null,
    freed bigint not null default 0,
    cooled_until double precision
) with (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 2000, autovacuum_vacuum_cost_delay = 0);
create index lane_news_queue on {schema}.lane_news (queue);

create function {schema}.seconds(at timestamptz) returns double precision
language sql stable as $$ select extract(epoch from at)::double precision $$;

-- As `model/lanes.py` has it: what comes before the key, for lanes that have limits.
create function {schema}.group_of(lane text) returns text
language sql immutable as $$ select split_part(lane, '>', 1) || '>' || split_part(lane, '>', 2) $$;

-- The groups that a job is under.
create function {schema}.groups_of(queue text, lane text) returns text[]
language sql immutable as $$
    select case when strpos(lane, '>') > 0 then array[queue, {schema}.group_of(lane)] else array[queue] end
$$;

-- How many may start now.
create function {schema}.room(
    rate double precision, burst integer, concurrency integer, active bigint, spent_until double precision,
    cooled_until double precision, now double precision) returns integer
language sql immutable as $$
    select case when cooled_until > now then 0 else greatest(0, least(
        1000000, concurrency - active, floor(burst - greatest(spent_until - now, 0) * rate + 1e-6)))::integer end
$$;

-- From when on so many may start at once; infinity where a run must end first.
create function {schema}.opens_at(
    rate double precision, burst integer, concurrency integer, active bigint, spent_until double precision,
    cooled_until double precision, at_once integer) returns double precision
language sql immutable as $$
    select case when active >= concurrency then 'infinity'
                else greatest(cooled_until, spent_until - (burst - at_once) / rate) end
$$;

-- How many are worth asking for at once, by a rate.
create function {schema}.a_few(rate double precision, burst integer) returns integer
language sql immutable as $$ select greatest(1, least(burst, floor(rate * 0.05)))::integer $$;

create function {schema}.hold_limits(queues text[]) returns void
language plpgsql as $$
declare
    queue text;
begin
    for queue in select distinct q.queue collate "C" as queue from unnest(queues) as q(queue) order by 1 loop
        perform pg_advisory_xact_lock(hashtextextended('{schema} limits ' || queue, 0));
    end loop;
end
$$;

-- Look anew at lanes: who is first in them, when it is their turn, whether they are open.
create function {schema}.look_at_lanes(lanes text[], moment timestamptz) returns void
language plpgsql as $$
declare
    now constant double precision := {schema}.seconds(moment);
begin
    update {schema}.limited_lanes l
    set head = s.head, line = s.line,
        turn = case s.line when 0 then s.head when 1 then s.head + l.owes_until else l.owes_until end,
        shut_until = case when s.room = 0 then s.opens_at end
    from (
        select o.lane, h.head,
            case when o.owes_until <= now + coalesce(t.ahead, 0) then 0 when h.head > now - 900 then 1 else 2 end as line,
            {schema}.room(k.rate, k.burst, k.concurrency, o.active, o.spent_until, o.cooled_until, now) as room,
            {schema}.opens_at(k.rate, k.burst, k.concurrency, o.active, o.spent_until, o.cooled_until, 1) as opens_at
        from {schema}.limited_lanes o
        join {schema}.groups g on g.name = o.grp
        left join {schema}.turns t on t.queue = o.queue
        cross join lateral (
            select case when o.keyed then g.key_rate end as rate, case when o.keyed then g.key_burst end as burst,
                case when o.keyed then g.key_concurrency end as concurrency
        ) k
        left join lateral (
            select {schema}.seconds(j.rank) as head from {schema}.jobs j
            where j.lane = o.lane and j.state = 'waiting' and (j.expires_at is null or j.expires_at > moment)
            order by j.rank, j.id limit 1
        ) h on true
        where o.lane = any(lanes)
    ) s
    where l.lane = s.lane;
end
$$;

-- Take in what was left in `lane_news`, under the lock of these queues.
create function {schema}.fold_lane_news(queues text[], moment timestamptz) returns void
language plpgsql as $$
declare
    named text[];
    of_queue text[];
    frees bigint[];
    cooldowns double precision[];
begin
    with taken as (
        delete from {schema}.lane_news n
        where n.ctid = any(array(
            select o.ctid from {schema}.lane_news o where o.queue = any(queues) limit 50000))
        returning n.queue, n.lane, n.freed, n.cooled_until
    ),
    summed as (
        select t.queue, t.lane, sum(t.freed)::bigint as freed, max(t.cooled_until) as cools from taken t group by 1, 2
    )
    select array_agg(lane), array_agg(queue), array_agg(freed), array_agg(cools)
    into named, of_queue, frees, cooldowns from summed;
    if named is null then
        return;
    end if;

    insert into {schema}.groups (name, queue)
    select distinct case when strpos(n.lane, '>') > 0 then {schema}.group_of(n.lane) else n.queue end, n.queue
    from unnest(named, of_queue, cooldowns) as n(lane, queue, cools)
    where strpos(n.lane, '>') > 0 or n.cools is not null
    on conflict (name) do nothing;
    insert into {schema}.limited_lanes (lane, queue, grp, keyed)
    select n.lane, n.queue, {schema}.group_of(n.lane), n.lane <> {schema}.group_of(n.lane)
    from unnest(named, of_queue) as n(lane, queue) where strpos(n.lane, '>') > 0
    on conflict (lane) do nothing;

    -- A cooldown is the key's where there is one, else the task's, else the queue's.
    update {schema}.limited_lanes l
    set active = greatest(l.active - n.freed, 0),
        cooled_until = case when l.keyed then greatest(l.cooled_until, n.cools) else l.cooled_until end
    from unnest(named, frees, cooldowns) as n(lane, freed, cools) where l.lane = n.lane;
    update {schema}.groups g
    set active = greatest(g.active - n.freed, 0), cooled_until = greatest(g.cooled_until, n.cools)
    from (
        select t.name, sum(t.freed)::bigint as freed, max(t.cools) as cools
        from (
            select {schema}.group_of(n.lane) as name, n.freed,
                case when n.lane = {schema}.group_of(n.lane) then n.cools end as cools
            from unnest(named, frees, cooldowns) as n(lane, freed, cools) where strpos(n.lane, '>') > 0
            union all
            select n.queue, n.freed, case when strpos(n.lane, '>') = 0 then n.cools end
            from unnest(named, of_queue, frees, cooldowns) as n(lane, queue, freed, cools)
        ) t
        group by 1
    ) n
    where g.name = n.name and (n.freed > 0 or n.cools is not null);
    perform {schema}.look_at_lanes(named, moment);
end
$$;

-- Lanes whose time has come: a rate, a cooldown or what they owed is worked off, or their age counts no more.
create function {schema}.reopen_lanes(queues text[], moment timestamptz) returns void
language plpgsql as $$
declare
    now constant double precision := {schema}.seconds(moment);
    lanes text[];
begin
    lanes := array(
        select l.lane from {schema}.groups g left join {schema}.turns t on t.queue = g.queue, lateral (
            (select s.lane from {schema}.limited_lanes s
             where s.grp = g.name and s.head is not null and s.shut_until <= now + 1e-6
             order by s.shut_until limit 1000)
            union
            (select s.lane from {schema}.limited_lanes s
             where s.grp = g.name and s.line > 0 and s.head is not null and s.shut_until is null
                and s.owes_until <= now + coalesce(t.ahead, 0)
             order by s.owes_until limit 1000)
            union
            (select s.lane from {schema}.limited_lanes s
             where s.grp = g.name and s.line = 1 and s.head is not null and s.shut_until is null and s.head <= now - 900
             order by s.head limit 1000)
        ) l
        where g.queue = any(queues));
    if cardinality(lanes) > 0 then
        perform {schema}.look_at_lanes(lanes, moment);
    end if;
end
$$;
