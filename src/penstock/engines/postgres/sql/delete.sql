-- Of a deleted job nothing is left, whether or not it had been pruned.
with doomed as (
    select f.ctid as place from {schema}.finished f
    where f.id = any(%(ids)b::text[]::uuid[]) order by f.id for update
),
erased as (
    delete from {schema}.history h where h.id = any(%(ids)b::text[]::uuid[]) returning h.id
),
{_removing}
select (select count(*) from gone) + (select count(*) from erased)
