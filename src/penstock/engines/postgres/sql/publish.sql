-- A feed begins at the time, so that it is not taken for one that was before.
with m as (
    select now, (extract(epoch from now) * 1000000)::bigint as begins, cardinality(%(events)b::text[])::bigint as n
    from (select coalesce(%(now)s::timestamptz, now()) as now) t
),
state as (
    insert into {schema}.feed_state as s (is_the_one, first, last, dropped)
    select true, begins, begins + n, begins from m
    on conflict (is_the_one) do update
    set last = s.last + (select n from m),
        dropped = greatest(s.dropped, s.last + (select n from m) - %(kept)s::bigint)
    returning last, dropped
),
told as (
    insert into {schema}.feed (number, at, event, job_id, queue, task, owner, body)
    select state.last - m.n + g.place, m.now, g.event, g.job_id, g.queue, g.task, g.owner, g.body
    from m, state, unnest(%(events)b::text[], %(job_ids)b::text[], %(queues)b::text[], %(tasks)b::text[],
        %(owners)b::text[], %(bodies)b::text[]) with ordinality as g(event, job_id, queue, task, owner, body, place)
)
delete from {schema}.feed f using state where f.number <= state.dropped
