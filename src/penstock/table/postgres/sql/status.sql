-- The rows by status.
select
    {status}::text,
    count(*),
    count(*) filter (where {status} = {queued} and {retry_at} is not null),
    count(*) filter (
        where {status} = {started} and {started_at} <= {now_started} - %(after)s::float8 * interval '1 second'
    ),
    min({order_by})
from {table}
group by 1
order by 1
