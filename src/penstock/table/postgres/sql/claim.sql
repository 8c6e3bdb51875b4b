-- Starts the next queued rows, in order, each once, however many instances claim at the same time.
with next as materialized (
    select t.{id} as penstock_id
    {which}
    limit %(limit)s
    for update of t skip locked
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
