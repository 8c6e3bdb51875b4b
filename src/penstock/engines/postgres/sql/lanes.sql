with n as (select {schema}.seconds(coalesce(%(now)s::timestamptz, now())) as now),
g as materialized (
    select o.*, greatest(case when not s.open then s.opens_in end, case when not w.open then w.opens_in end) as opens_in
    from {schema}.groups o
    cross join lateral {schema}.outlook(o, coalesce(%(now)s::timestamptz, now())) s
    left join {schema}.groups q on q.name = o.queue
    left join lateral {schema}.outlook(q, coalesce(%(now)s::timestamptz, now())) w on q.name is not null
    where o.name = %(group)s
)
select l.lane,
    coalesce((select sum(c.n) from {schema}.counts c where c.lane = l.lane and c.state = 'waiting'), 0)::bigint,
    l.active, case when h.opens_in < 'infinity' then h.opens_in end
from {schema}.limited_lanes l
join g on g.name = l.grp
cross join n
cross join lateral (
    select case when l.keyed then g.key_rate end as rate, case when l.keyed then g.key_burst end as burst,
        case when l.keyed then g.key_concurrency end as concurrency
) k
cross join lateral (select greatest(g.opens_in, case
    when {schema}.room(k.rate, k.burst, k.concurrency, l.active, l.spent_until, l.cooled_until, n.now) = 0
    then {schema}.opens_at(k.rate, k.burst, k.concurrency, l.active, l.spent_until, l.cooled_until,
        coalesce({schema}.a_few(k.rate, k.burst), 1)) - n.now end) as opens_in) h
where l.grp = %(group)s and (%(after)s::text is null or l.lane collate "C" > %(after)s::text)
    and (l.head is not null or l.active > 0 or greatest(l.spent_until, l.cooled_until) > n.now)
order by l.lane collate "C" limit %(limit)s
