from {table}
where {status} = {queued} and {retry_at} is null
    and (:only is null or {table}.{id} = :only)
    and {table}.{id} not in ({{aside}})
order by {order_by}, {id}
