with moment as (
    select coalesce(%(now)s::timestamptz, now()) as now,
        coalesce(%(now)s::timestamptz, now()) + %(delay)s::double precision * interval '1 s' as due
),
held as materialized (
    select j.id, j.state from {schema}.jobs j
    where j.id = any(%(ids)b::text[]::uuid[]) and j.state in ('waiting', 'delayed') order by j.id for update
),
moved as (
    update {schema}.jobs j
    set state = case when moment.due > moment.now then 'delayed' else 'waiting' end, due_at = moment.due,
        rank = {schema}.rank_of(moment.due, j.priority), expires_at = j.expires_at + (moment.due - j.due_at)
    from held h, moment where j.id = h.id
    returning j.queue, j.lane, j.state, h.state as was
),
counted as (
    insert into {schema}.counts (queue, lane, state, n)
    select queue, case was when 'waiting' then nullif(lane, queue) end, was, -count(*) from moved group by 1, 2, 3
    union all
    select queue, case state when 'waiting' then nullif(lane, queue) end, state, count(*) from moved group by 1, 2, 3
),
told as (
    insert into {schema}.lane_news (queue, lane)
    select distinct queue, lane from moved where strpos(lane, '>') > 0 and state = 'waiting'
),
woken as (
    select count({schema}.wake(queue)) as n from (select distinct queue from moved where state = 'waiting') q
)
select (select count(*) from moved), woken.n from woken
