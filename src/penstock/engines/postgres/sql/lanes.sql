select l.lane,
    coalesce((select sum(c.n) from {schema}.counts c where c.lane = l.lane and c.state = 'waiting'), 0)::bigint,
    l.active, case when o.opens_at > n.now and o.opens_at < 'infinity' then o.opens_at - n.now end
from {schema}.limited_lanes l
join {schema}.groups g on g.name = l.grp
cross join (select {schema}.seconds(coalesce(%(now)s::timestamptz, now())) as now) n
cross join lateral (select {schema}.opens_at(
    case when l.keyed then g.key_rate end, g.key_burst, case when l.keyed then g.key_concurrency end,
    l.active, l.spent_until, l.cooled_until, 1) as opens_at) o
where l.grp = %(group)s and (%(after)s::text is null or l.lane collate "C" > %(after)s::text)
    and (l.head is not null or l.active > 0 or greatest(l.spent_until, l.cooled_until) > n.now)
order by l.lane collate "C" limit %(limit)s
