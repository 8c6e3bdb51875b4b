-- The first rows of one order key that are not dispatched; none where the very first is not due, or another
-- relay has it.
select seq, order_key, jobs, created_at, tries
from penstock_outbox
where destination = :destination and order_key = :order_key and order_key is not null and dispatched_at is null
    and :now >= (
        select next_try_at from penstock_outbox
        where destination = :destination and order_key = :order_key and order_key is not null and dispatched_at is null
        order by seq limit 1
    )
order by seq
limit :limit
