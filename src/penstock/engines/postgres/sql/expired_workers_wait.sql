-- Where all of them were held by others: wait for these, they are about to be done.
select id from {schema}.workers
where expires_at <= coalesce(%(now)s::timestamptz, now())
order by expires_at limit 100 for update
