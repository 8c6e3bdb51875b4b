-- What indexes find at once, each counted no further than to a bound; the first row to be claimed.
select
    (
        select count(*)
        from (select 1 from {table} where {status} = {queued} and {retry_at} is null limit %(most)s) as waiting
    ),
    (
        select count(*)
        from (select 1 from {table} where {status} = {queued} and {retry_at} is not null limit %(most)s) as later
    ),
    (select count(*) from (select 1 from {table} where {status} = {started} limit %(most)s) as begun),
    (
        select count(*) filter (where {started_at} <= {now_started} - %(after)s::float8 * interval '1 second')
        from (
            select {started_at} from {table} where {status} = {started} order by {started_at} limit %(most)s
        ) as oldest
    ),
    (
        select {order_by}
        from {table}
        where {status} = {queued} and {retry_at} is null
        order by {order_by}, {id}
        limit 1
    )
