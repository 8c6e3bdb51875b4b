with moment as (select coalesce(%(now)s::timestamptz, now()) as now),
held as materialized (
    select j.id from {schema}.jobs j
    where j.id = any(%(ids)b::text[]::uuid[]) and j.state = 'delayed' order by j.id for update
),
promoted as (
    update {schema}.jobs j
    set state = 'waiting', due_at = moment.now, rank = {schema}.rank_of(moment.now, j.priority)
    from held h, moment where j.id = h.id
    returning j.queue, j.lane
),
counted as (
    insert into {schema}.counts (queue, lane, state, n)
    select queue, null, 'delayed', -count(*) from promoted group by 1
    union all
    select queue, nullif(lane, queue), 'waiting', count(*) from promoted group by 1, 2
),
woken as (select count({schema}.wake(queue)) as n from (select distinct queue from promoted) q)
select (select count(*) from promoted), woken.n from woken
