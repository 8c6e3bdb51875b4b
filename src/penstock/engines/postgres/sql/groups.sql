select g.name, g.rate, g.burst, g.concurrency, g.said, g.key_rate, g.key_burst, g.key_concurrency, g.key_said, g.needs,
    g.active,
    case when g.cooled_until > n.now then g.cooled_until - n.now end
from {schema}.groups g, (select {schema}.seconds(coalesce(%(now)s::timestamptz, now())) as now) n
where g.declared and not {schema}.bounds_nothing(g) order by g.name collate "C"
