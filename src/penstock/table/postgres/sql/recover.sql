-- Takes stuck rows back: completed where their output exists, else queued, and failed after too many times.
with gone as materialized (
    select t.{id} as penstock_id, {made} as penstock_made
    {which}
    limit %(limit)s
    for update of t skip locked
), judged as (
    select
        penstock_id,
        case
            when penstock_made then {completed}
            when coalesce(t.{stuck}, 0) >= %(most)s then {failed}
            else {queued}
        end as penstock_status
    from gone join {table} as t on t.{id} = penstock_id
)
update {table} as t
set {status} = penstock_status::{status_type},
    {completed_at} = case penstock_status when {completed} then {now_completed} else t.{completed_at} end,
    {started_at} = case penstock_status when {queued} then null else t.{started_at} end,
    {error} = case penstock_status when {failed} then %(error)s when {completed} then null else t.{error} end,
    {stuck} = coalesce(t.{stuck}, 0) + case penstock_status when {queued} then 1 else 0 end,
    {attempts} = greatest(
        coalesce(t.{attempts}, 0) - case penstock_status when {queued} then 1 else 0 end, 0
    ),
    {token} = null
from judged
where t.{id} = penstock_id
returning t.{id}, penstock_status
