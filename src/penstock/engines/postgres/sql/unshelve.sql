-- Finished jobs of schedules that are gone, or keep nothing apart, go back to the shelves of their queues, some at a time. The shelves are found
-- one after the other, by the index.
with recursive shelves as (
    (select coalesce(f.shelf, f.queue) as shelf from {schema}.finished f where not f.pinned order by 1 limit 1)
    union all
    select (select coalesce(f.shelf, f.queue) from {schema}.finished f
            where not f.pinned and coalesce(f.shelf, f.queue) > s.shelf order by 1 limit 1)
    from shelves s where s.shelf is not null
),
orphaned as (
    select s.shelf from shelves s
    where left(s.shelf, 1) = '@' and (
        not exists (select from {schema}.schedules o where o.id = substr(s.shelf, 2))
        or substr(s.shelf, 2) = any(%(unshelved)b::text[]))
),
batch as (
    select f.ctid as place from {schema}.finished f
    where coalesce(f.shelf, f.queue) = any(array(select shelf from orphaned)) and not f.pinned
    limit 1000 for update skip locked
)
update {schema}.finished f set shelf = null where f.ctid = any(array(select place from batch))
