from {table}
where {status} = {queued} and {retry_at} <= {now}
    and (:only is null or {table}.{id} = :only)
    and {table}.{id} not in ({{aside}})
order by {retry_at}
