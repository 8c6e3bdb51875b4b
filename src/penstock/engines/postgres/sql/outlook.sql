-- Seconds until the next delayed job falls due, and until the next tick of a schedule is; whether a worker is past its time,
-- and whether more counts lie about unfolded than should.
select
    (select extract(epoch from due_at - m.now)::double precision
     from {schema}.jobs where state = 'delayed' order by due_at limit 1),
    (select extract(epoch from next_at - m.now)::double precision
     from {schema}.schedules where not paused and next_at is not null order by next_at, id limit 1),
    exists (select 1 from {schema}.workers where expires_at <= m.now),
    exists (select 1 from {schema}.counts offset %(unfolded)s::bigint limit 1)
from (select coalesce(%(now)s::timestamptz, now()) as now) m
