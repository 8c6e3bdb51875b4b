-- Rows without an order key that are due and in no other relay's hand.
select seq, order_key, jobs, created_at, tries
from penstock_outbox
where destination = :destination and dispatched_at is null and order_key is null and next_try_at <= :now
order by next_try_at, seq
limit :limit
