with moment as (select coalesce(%(now)s::timestamptz, now()) as now)
select b.name, b.threshold, extract(epoch from b.reset)::double precision, b.probes, b.failure_rate,
    extract(epoch from b.window_length)::double precision, b.minimum, s.circuit, s.failures, s.runs, s.since,
    (select count(*) from jsonb_object_keys(s.probing)),
    case s.circuit when 'open'
        then greatest(0, extract(epoch from s.since + s.reset - moment.now)::double precision) end
from {schema}.breakers b, moment, lateral {schema}.breaker_at(b, moment.now) s
order by b.name collate "C"
