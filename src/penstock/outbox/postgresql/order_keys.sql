-- The next order keys with rows that are not dispatched, whatever number of rows each has.
with recursive keys as (
    (
        select order_key, 1 as n from penstock_outbox
        where destination = %(destination)s and dispatched_at is null and order_key > %(after)s::text
        order by order_key limit 1
    )
    union all
    select following.order_key, keys.n + 1
    from keys cross join lateral (
        select o.order_key from penstock_outbox o
        where o.destination = %(destination)s and o.dispatched_at is null and o.order_key > keys.order_key
        order by o.order_key limit 1
    ) following
    where keys.n < %(limit)s
)
select order_key from keys
