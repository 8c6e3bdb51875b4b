create index {concurrently}if not exists {index} on {table} ({retry_at})
    where {status} = {queued} and {retry_at} is not null
