create index if not exists {index} on {table} ({order_by}, {id})
    where {status} = {queued} and {retry_at} is null
