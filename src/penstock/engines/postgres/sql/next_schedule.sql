-- The time, whether more are due than were asked for, and the seconds to the next that is not yet.
select moment.now at time zone 'utc',
    (select count(*) from (
        select 1 from {schema}.schedules
        where not paused and next_at <= coalesce(%(now)s::timestamptz, now()) limit %(limit)s::bigint + 1
    ) due) > %(limit)s,
    (select extract(epoch from s.next_at - moment.now)::double precision from {schema}.schedules s
     where not s.paused and s.next_at > coalesce(%(now)s::timestamptz, now()) order by s.next_at limit 1)
from (select coalesce(%(now)s::timestamptz, now()) as now) moment
