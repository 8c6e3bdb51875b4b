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

-- What a claim takes, over all lanes, by their turns and within their limits; and lanes that were found shut or empty.
-- `scope` is null for all that stands behind no breaker; else the one group to take from, of `behind`, which do.
create function {schema}.choose_by_turns(
    queues text[], most integer[], most_of_all integer, free integer, tasks text[], fingerprints text[],
    scope text, behind text[], moment timestamptz, out chosen uuid[], out mistaken text[]
) language plpgsql as $$
declare
    now constant double precision := {schema}.seconds(moment);
begin
    with q as (
        select w.queue, g.name is not null and (
                g.rate is not null or g.concurrency is not null or g.needs <> '{}') as limited,
            least(w.most, most_of_all, coalesce(
                {schema}.room(g.rate, g.burst, g.concurrency, g.active, g.spent_until, g.cooled_until, now),
                1000000)) as room
        from unnest(queues, most) as w(queue, most)
        left join {schema}.groups g on g.name = w.queue
        where (scope is null and w.queue <> all(behind) or scope = w.queue or strpos(scope, w.queue || '>') = 1)
            and not exists (select from {schema}.queues p where p.name = w.queue and p.paused)
    ),
    g as (
        select o.*, least(q.room, {schema}.room(
            o.rate, o.burst, o.concurrency, o.active, o.spent_until, o.cooled_until, now)) as room
        from q join {schema}.groups o on o.queue = q.queue and o.name <> q.queue
        where q.room > 0 and (o.name = scope or o.name <> all(behind) and (scope is null or scope = q.queue))
    ),
    l as materialized (
        select g.queue, g.name as grp, g.room as group_room, f.lane, greatest(f.owes_until - now, 0) as owed,
            {schema}.room(
                case when f.keyed then g.key_rate end, g.key_burst, case when f.keyed then g.key_concurrency end,
                f.active, f.spent_until, f.cooled_until, now) as room
        from g, lateral (
            (select s.* from {schema}.limited_lanes s
             where s.grp = g.name and s.head is not null and s.shut_until is null and not s.owes
             order by s.turn limit most_of_all)
            union all
            (select s.* from {schema}.limited_lanes s
             where s.grp = g.name and s.head is not null and s.shut_until is null and s.owes
             order by s.turn limit most_of_all)
        ) f
        where g.room > 0
    ),
    in_lanes as materialized (
        select l.queue, l.grp, l.group_room, l.lane, j.id,
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
        select q.queue as lane, q.queue, q.room, q.limited from q
        union all
        select p.lane, q.queue, q.room, q.limited
        from {schema}.lanes p
        join q on q.queue = p.queue
        join unnest(tasks, fingerprints) as t(task, fingerprint)
            on t.task = p.task and t.fingerprint <> all (string_to_array(coalesce(p.misfit, ''), ','))
    ),
    found as (
        select n.queue, n.id, n.turn, true as limited from (
            select i.*, row_number() over (partition by i.grp order by i.turn, i.id) as nth from in_lanes i
        ) n
        where n.nth <= n.group_room
        union all
        select o.queue, j.id, greatest({schema}.seconds(j.rank), now - 900), o.limited
        from open_lanes o, lateral (
            select c.id, c.rank from {schema}.jobs c
            where c.lane = o.lane and c.state = 'waiting' and (c.expires_at is null or c.expires_at > moment)
            order by c.rank, c.id limit o.room
        ) j
        where scope is null or scope = o.queue
    ),
    startable as (
        select f.*, row_number() over (partition by f.limited order by f.turn, f.id) as nth from found f
    ),
    of_queues as (
        select s.id, s.turn, q.room, row_number() over (partition by s.queue order by s.turn, s.id) as nth
        from startable s join q on q.queue = s.queue
        where not s.limited or s.nth <= free
    )
    select
        array(select o.id from of_queues o where o.nth <= o.room order by o.turn, o.id limit most_of_all),
        array(select l.lane from l where l.room = 0 or not exists (select from in_lanes i where i.lane = l.lane))
    into chosen, mistaken;
end
$$;

-- Claim these; what they take of the limits is written in the same step.
create function {schema}.start_chosen(
    claimer text, claim_request text, chosen uuid[], moment timestamptz, at timestamptz)
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
            claimed_at = coalesce(at, clock_timestamp()),
            started_at = coalesce(j.started_at, at, clock_timestamp()), attempt = j.attempt + 1,
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
    set active = l.active + c.n, owes_until = greatest(l.owes_until, now) + 10 * c.n,
        spent_until = case when l.keyed and g.key_rate is not null
                           then greatest(l.spent_until, now) + c.n / g.key_rate else l.spent_until end
    from (select c.lane, count(*) as n from unnest(claimed) c group by 1) c, {schema}.groups g
    where l.lane = c.lane and g.name = l.grp;
    perform {schema}.look_at_lanes(array(select distinct c.lane from unnest(claimed) c), moment);
    return claimed;
end
$$;
