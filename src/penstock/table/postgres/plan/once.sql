create unique index {concurrently}if not exists {index} on {output} ({source})
    where {source} is not null
