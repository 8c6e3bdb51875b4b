-- Rows that somebody started without saying when count as started from now on.
with undated as materialized (
    select t.{id} as penstock_id
    {which}
    limit %(limit)s
    for update of t skip locked
)
update {table} as t
set {started_at} = {now_started}
from undated
where t.{id} = penstock_id
