with doomed as (
    select f.ctid as place from {schema}.finished f
    where f.id = any(%(ids)b::text[]::uuid[]) order by f.id for update
),
{_removing}
