delete from {schema}.notes where ctid = any(array(
    select ctid from {schema}.notes where expires_at <= coalesce(%(now)s::timestamptz, now())
    order by expires_at limit 1000 for update skip locked
))
