-- After a COPY: what it put in, and those who wait for it.
with counted as (
    insert into {schema}.counts (queue, lane, state, n)
    select * from unnest(%(queues)b::text[], %(lanes)b::text[], %(states)b::text[], %(counts)b::bigint[])
),
told as (
    insert into {schema}.lane_news (queue, lane)
    select distinct n.queue, n.lane
    from unnest(%(queues)b::text[], %(lanes)b::text[], %(states)b::text[]) as n(queue, lane, state)
    where strpos(n.lane, '>') > 0 and n.state = 'waiting'
)
select count({schema}.wake(q)) from unnest(%(wake)b::text[]) q
