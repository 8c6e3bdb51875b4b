-- Jobs that were delayed and now wait: counted, and told to those who wait for work.
counted as (
    insert into {schema}.counts (queue, lane, state, n)
    select queue, null, 'delayed', -count(*) from ready group by 1
    union all
    select queue, nullif(lane, queue), 'waiting', count(*) from ready group by 1, 2
),
told as (
    insert into {schema}.lane_news (queue, lane) select distinct queue, lane from ready where strpos(lane, '>') > 0
),
woken as (select count({schema}.wake(queue)) as n from (select distinct queue from ready) q)
