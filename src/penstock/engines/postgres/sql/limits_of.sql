with n as (select {schema}.seconds(coalesce(%(now)s::timestamptz, now())) as now),
b as (
    select g.name, g.rate, g.burst, g.concurrency, g.needs, g.active, g.spent_until, g.cooled_until
    from {schema}.groups g where g.name in (%(queue)s, %(group)s)
    union all
    select %(lane)s, g.key_rate, g.key_burst, g.key_concurrency, '{}', coalesce(l.active, 0), coalesce(l.spent_until, 0),
        coalesce(l.cooled_until, 0)
    from (select) as one
    left join {schema}.groups g on g.name = %(group)s
    left join {schema}.limited_lanes l on l.lane = %(lane)s
    where %(keyed)s
)
select b.name, b.rate, b.burst, b.concurrency, b.needs, b.active,
    case when b.cooled_until > n.now then b.cooled_until - n.now end,
    case when {schema}.room(b.rate, b.burst, null, 0, b.spent_until, 0, n.now) = 0
        then {schema}.opens_at(b.rate, b.burst, null, 0, b.spent_until, 0, {schema}.a_few(b.rate, b.burst)) - n.now end
from b, n
where b.rate is not null or b.concurrency is not null or b.needs <> '{}' or b.cooled_until > n.now
order by length(b.name)
