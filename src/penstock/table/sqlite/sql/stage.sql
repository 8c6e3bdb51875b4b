-- Lets rows be claimed whose wait for the next attempt is over.
update {table}
set {retry_at} = null
where {id} in (
    select {id}
    {which}
    limit :limit
)
