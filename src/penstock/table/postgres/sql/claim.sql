-- Starts the next queued rows, in order, each once, however many instances claim at the same time.
with next as materialized (
    select {id} as penstock_id
    from {table}
    where {status} = {queued} and {retry_at} is null
    order by {order_by}, {id}
    limit %(limit)s
    for update skip locked
), taken as (
    update {table} as t
    set {status} = {started},
        {started_at} = {now_started},
        {token} = gen_random_uuid()::text,
        {attempts} = coalesce(t.{attempts}, 0) + 1
    from next
    where t.{id} = next.penstock_id
    returning t.{id} as penstock_id, t.{token} as penstock_token, t.{attempts} as penstock_attempt,
        {made} as penstock_made, t.*
)
select * from taken order by {order_by}, penstock_id
