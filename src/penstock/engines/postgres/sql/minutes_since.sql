select at, queue, task, measures::text from {schema}.minutes
where at >= coalesce(%(now)s::timestamptz, now()) - %(reach)s::float8 * interval '1 s'
order by at, queue, task
