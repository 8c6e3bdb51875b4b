-- Rescue takes the workers' rows first; a worker that is just claiming holds its row and is left for later.
select id from {schema}.workers
where expires_at <= coalesce(%(now)s::timestamptz, now())
order by expires_at limit 100 for update skip locked
