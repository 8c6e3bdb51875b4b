-- Starts the next queued rows, each once: the transaction is immediate, so nobody else writes meanwhile.
update {table}
set {status} = {started},
    {started_at} = {now},
    {token} = lower(hex(randomblob(16))),
    {attempts} = coalesce({attempts}, 0) + 1
where {id} in (
    select {id}
    {which}
    limit :limit
)
returning {id}
