-- How many of the keys were free and are taken now. Sorted: two batches with the same keys never wait in a circle.
with taken as (
    insert into {schema}.keys (queue, task, key, job_id)
    select g.queue, g.task, g.key, g.id
    from unnest(%(queues)b::text[], %(tasks)b::text[], %(keys)b::text[], %(ids)s::uuid[])
        with ordinality as g(queue, task, key, id, nth)
    order by g.queue, g.task, g.key, g.nth
    on conflict do nothing
    returning 1
)
select count(*) from taken
