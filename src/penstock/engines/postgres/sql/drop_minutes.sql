with quarters as (
    delete from {schema}.quarters where ctid = any(array(
        select ctid from {schema}.quarters
        where at < coalesce(%(now)s::timestamptz, now()) - %(kept)s::float8 * interval '1 s'
        order by at limit 10000 for update skip locked
    ))
)
delete from {schema}.minutes where ctid = any(array(
    select ctid from {schema}.minutes
    where at < coalesce(%(now)s::timestamptz, now()) - %(kept)s::float8 * interval '1 s'
    order by at limit 10000 for update skip locked
))
