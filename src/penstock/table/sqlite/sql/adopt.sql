-- Rows that somebody started without saying when count as started from now on.
update {table}
set {started_at} = {now}
where {id} in (
    select {id} from {table} where {status} = {started} and {started_at} is null limit :limit
)
