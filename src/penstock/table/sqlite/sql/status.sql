-- The rows by status.
select
    {status},
    count(*),
    count(*) filter (where {status} = {queued} and {retry_at} is not null),
    count(*) filter (
        where {status} = {started} and julianday({started_at}) <= julianday({now}) - :after / 86400.0
    ),
    min({order_by})
from {table}
group by 1
order by 1
