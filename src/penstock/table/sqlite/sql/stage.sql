-- Lets rows be claimed whose wait for the next attempt is over.
update {table}
set {retry_at} = null
where {id} in (
    select {id} from {table}
    where {status} = {queued} and {retry_at} <= {now}
    order by {retry_at}
    limit :limit
)
