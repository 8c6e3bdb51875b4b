create unique index if not exists {index} on {output} ({source})
    where {source} is not null
