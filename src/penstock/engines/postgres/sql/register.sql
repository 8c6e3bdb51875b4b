insert into {schema}.workers (id, name, queues, slots, started_at, expires_at)
select %(worker)s, %(name)s, %(queues)b::text[], %(slots)s, moment.now,
    moment.now + %(ttl)s * interval '1 s'
from (select coalesce(%(now)s::timestamptz, now()) as now) moment
on conflict (id) do nothing
