-- The next order keys with rows that are not dispatched, whatever number of rows each has.
with recursive keys (order_key, n) as (
    select * from (
        select order_key, 1 from penstock_outbox
        where destination = :destination and dispatched_at is null and order_key is not null and order_key > :after
        order by order_key limit 1
    )
    union all
    select (
        select o.order_key from penstock_outbox o
        where o.destination = :destination and o.dispatched_at is null and o.order_key is not null and o.order_key > keys.order_key
        order by o.order_key limit 1
    ), n + 1
    from keys
    where keys.n < :limit and keys.order_key is not null
)
select order_key from keys where order_key is not null
