-- Beyond the bound the newest go first, as in `prune`.
with beyond as (
    (select h.id from {schema}.history h
     order by h.finished_at desc, h.id desc offset %(keep)s::bigint limit %(limit)s)
    union
    (select h.id from {schema}.history h
     where h.finished_at < coalesce(%(now)s::timestamptz, now()) - %(older_than)s * interval '1 s'
     order by h.finished_at, h.id limit %(limit)s)
),
doomed as (
    select h.ctid as place from {schema}.history h
    where h.id = any(array(select id from beyond)) order by h.id limit %(limit)s for update skip locked
),
gone as (
    delete from {schema}.history h where h.ctid = any(array(select place from doomed)) returning h.id
)
select count(*) from gone
