-- Rows that somebody started without saying when count as started from now on.
with undated as materialized (
    select {id} as penstock_id
    from {table}
    where {status} = {started} and {started_at} is null
    limit %(limit)s
    for update skip locked
)
update {table} as t
set {started_at} = {now_started}
from undated
where t.{id} = penstock_id
