-- After a COPY: what it put in, and those who wait for it.
with counted as (
    insert into {schema}.counts (queue, lane, state, n)
    select * from unnest(%(queues)b::text[], %(lanes)b::text[], %(states)b::text[], %(counts)b::bigint[])
)
select count({schema}.wake(q)) from unnest(%(wake)b::text[]) q
