-- Lets rows be claimed whose wait for the next attempt is over.
with due as materialized (
    select t.{id} as penstock_id
    {which}
    limit %(limit)s
    for update of t skip locked
)
update {table} as t
set {retry_at} = null
from due
where t.{id} = penstock_id
