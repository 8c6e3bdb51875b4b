from {table}
where {status} = {started} and julianday({started_at}) <= julianday({now}) - :after / 86400.0
    and (:only is null or {table}.{id} = :only)
    and {table}.{id} not in ({{aside}})
order by {started_at}
