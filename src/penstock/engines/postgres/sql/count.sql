-- In the order of the names, as all who count do.
with given as materialized (
    select queue, task, measures::jsonb as measures
    from unnest(%(queues)b::text[], %(tasks)b::text[], %(measures)b::text[]) as g(queue, task, measures)
    order by queue collate "C", task collate "C"
),
in_minute as (
    insert into {schema}.minutes as m (at, queue, task, measures)
    select date_trunc('minute', coalesce(%(now)s::timestamptz, now()), 'UTC'), queue, task, measures from given
    on conflict (at, queue, task) do update set measures = {schema}.added(m.measures, excluded.measures)
),
in_quarter as (
    insert into {schema}.quarters as q (at, queue, measures)
    select date_bin('15 minutes', coalesce(%(now)s::timestamptz, now()), timestamptz '1970-01-01 00:00:00+00'),
        queue, measures::jsonb
    from unnest(%(whole_queues)b::text[], %(whole_measures)b::text[]) as g(queue, measures) order by queue collate "C"
    on conflict (at, queue) do update set measures = {schema}.added(q.measures, excluded.measures)
)
insert into {schema}.totals as t (queue, task, measures)
select queue, task, measures from given
on conflict (queue, task) do update set measures = {schema}.added(t.measures, excluded.measures)
