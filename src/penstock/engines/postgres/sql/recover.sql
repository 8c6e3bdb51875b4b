-- A new job of each dead letter that has none yet; the key row is re-pointed, unless another job holds it.
with moment as (select coalesce(%(now)s::timestamptz, now()) as now),
wanted as (
    select distinct on (dead_id) * from unnest(
        %(dead_ids)b::text[]::uuid[], %(new_ids)b::text[]::uuid[], %(args)b::text[],
        %(delays)b::double precision[]) as r(dead_id, new_id, args, delay)
    order by dead_id
),
found as materialized (
    select d.job_id, w.new_id, d.queue, d.task, coalesce(w.args, d.args) as args, d.key, d.is_unique, d.priority,
        d.max_attempts, d.owner, d.options, d.span, d.span_seconds, o.after, o.flow,
        moment.now + w.delay * interval '1 s' as due_at, moment.now,
        case when w.delay > 0 then 'delayed' else 'waiting' end as state
    from {schema}.dead_letters d join wanted w on w.dead_id = d.job_id
    left join {schema}.finished o on o.id = d.job_id cross join moment
    where d.recovered_as is null
    order by d.job_id for update of d
),
created as (
    insert into {schema}.jobs (id, queue, task, lane, state, args, key, is_unique, priority, max_attempts, rank,
        created_at, due_at, owner, options, recovered_from, after, flow, flow_place, tied, stepped,
        span, span_seconds)
    select new_id, queue, task, queue, state, args, coalesce(key, job_id::text), is_unique, priority,
        max_attempts, {schema}.rank_of(due_at, priority), now, due_at, owner, options, job_id, after, flow,
        case when flow is not null then nextval('{schema}.flow_places') end,
        flow is not null or exists (select from {schema}.edges e where e.upstream = f.job_id),
        exists (select from {schema}.steps s where s.job_id = f.job_id), span, span_seconds
    from found f
),
copied as (
    insert into {schema}.steps (job_id, name, value)
    select f.new_id, s.name, s.value from found f join {schema}.steps s on s.job_id = f.job_id order by s.place
),
pointed as (
    update {schema}.edges e set upstream = f.new_id from found f where e.upstream = f.job_id and e.on_failure = 'wait'
    returning e.job_id, f.job_id as failed, f.new_id
),
renamed as (
    update {schema}.jobs j set after = (
        select array_agg(coalesce(p.new_id, a.id) order by a.nth)
        from unnest(j.after) with ordinality as a(id, nth)
        left join pointed p on p.job_id = j.id and p.failed = a.id)
    where j.id in (select p.job_id from pointed p)
),
adopted as (
    update {schema}.effects e set job_id = f.new_id from found f
    where e.task = f.task and e.key = coalesce(f.key, f.job_id::text)
),
marked as (
    update {schema}.dead_letters d set recovered_as = f.new_id, recovered_at = f.now
    from found f where d.job_id = f.job_id
),
joined as (
    update {schema}.flows l set unfinished = greatest(l.unfinished, 0) + m.n
    from (select flow, count(*) as n from found where flow is not null group by 1) m where l.id = m.flow
    returning l.id
),
-- While an heir is unfinished, the members of its flow are kept. The flow is locked first, as by those who end in it.
linked as (
    update {schema}.finished o set pinned = o.pinned or o.flow is not null,
        recovered_as = coalesce((select f.new_id from found f where f.job_id = o.id), o.recovered_as)
    where o.id = any(array(select job_id from found))
        or o.flow = any(array(select id from joined))
),
taken as (
    insert into {schema}.keys as k (queue, task, key, job_id, until)
    select queue, task, key, new_id, case when span = 'period' then now + span_seconds * interval '1 s' end
    from found where is_unique order by queue, task, key
    on conflict (queue, task, key) do update set job_id = excluded.job_id, until = excluded.until, outlives = false
    where k.job_id in (select job_id from found)
        or not exists (select from {schema}.jobs j where j.id = k.job_id)
            and (k.until <= coalesce(%(now)s::timestamptz, now())
                or k.until is null and not exists (select from {schema}.finished o where o.id = k.job_id))
),
counted as (
    insert into {schema}.counts (queue, lane, state, n)
    select queue, null, state, count(*) from found group by 1, 3
    union all
    select queue, null, 'dead', -count(*) from found group by 1
),
woken as (
    select count({schema}.wake(queue)) as n from (select distinct queue from found where state = 'waiting') q
)
select n from woken
