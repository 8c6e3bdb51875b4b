-- Delayed jobs that are due become waiting. Answers whether there may be more, and the seconds to the next.
with moment as (select coalesce(%(now)s::timestamptz, now()) as now),
due as (
    select ctid as place from {schema}.jobs
    where state = 'delayed' and due_at <= coalesce(%(now)s::timestamptz, now())
    order by due_at limit %(limit)s for update skip locked
),
staged as (
    update {schema}.jobs j set state = 'waiting' where j.ctid = any(array(select place from due))
    returning queue, lane
),
counted as (
    insert into {schema}.counts (queue, lane, state, n)
    select queue, null, 'delayed', -count(*) from staged group by 1
    union all
    select queue, nullif(lane, queue), 'waiting', count(*) from staged group by 1, 2
),
woken as (select count({schema}.wake(queue)) as n from (select distinct queue from staged) q)
select (select count(*) from staged) >= %(limit)s,
    (select extract(epoch from min(j.due_at) - moment.now)::double precision
     from {schema}.jobs j where j.state = 'delayed' and j.due_at > moment.now),
    woken.n
from moment, woken
