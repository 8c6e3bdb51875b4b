-- What indexes find at once, each counted no further than to a bound; the first row to be claimed.
select
    (
        select count(*)
        from (select 1 from {table} where {status} = {queued} and {retry_at} is null limit :most) as waiting
    ),
    (
        select count(*)
        from (select 1 from {table} where {status} = {queued} and {retry_at} is not null limit :most) as later
    ),
    (select count(*) from (select 1 from {table} where {status} = {started} limit :most) as begun),
    (
        select count(*) filter (where julianday({started_at}) <= julianday({now}) - :after / 86400.0)
        from (
            select {started_at} from {table} where {status} = {started} order by {started_at} limit :most
        ) as oldest
    ),
    (
        select {order_by}
        from {table}
        where {status} = {queued} and {retry_at} is null
        order by {order_by}, {id}
        limit 1
    )
