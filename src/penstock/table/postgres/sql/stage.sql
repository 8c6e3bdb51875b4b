-- Lets rows be claimed whose wait for the next attempt is over.
with due as materialized (
    select {id} as penstock_id
    from {table}
    where {status} = {queued} and {retry_at} <= {now_retry}
    order by {retry_at}
    limit %(limit)s
    for update skip locked
)
update {table} as t
set {retry_at} = null
from due
where t.{id} = penstock_id
