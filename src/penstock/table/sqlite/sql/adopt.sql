-- Rows that somebody started without saying when count as started from now on.
update {table}
set {started_at} = {now}
where {id} in (
    select {id}
    {which}
    limit :limit
)
