insert into {schema}.workers (id, name, queues, slots, info, started_at, expires_at)
select %(worker)s, %(name)s, %(queues)b::text[], %(slots)s, %(info)s::jsonb, moment.now,
    moment.now + %(ttl)s * interval '1 s'
from (select coalesce(%(now)s::timestamptz, now()) as now) moment
on conflict (id) do nothing
