with gone as (
    delete from {schema}.notes n where ctid = any(array(
        select ctid from {schema}.notes
        where kind = %(kind)s
            and at < coalesce(%(now)s::timestamptz, now()) - %(older_than)s::float8 * interval '1 s'
        order by at limit %(limit)s for update skip locked
    ))
    returning 1
)
select count(*) from gone
