update {schema}.workers set ordered = %(order)s::text
where id = %(worker)s and expires_at > coalesce(%(now)s::timestamptz, now())
returning true
