from {table}
where {status} = {started} and {started_at} is null
    and (:only is null or {table}.{id} = :only)
    and {table}.{id} not in ({{aside}})
