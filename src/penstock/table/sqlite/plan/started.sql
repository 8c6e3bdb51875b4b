create index if not exists {index} on {table} ({started_at})
    where {status} = {started}
