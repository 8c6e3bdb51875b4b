select id, order_key, tries, error, next_try_at
from penstock_outbox
where destination = :destination and dispatched_at is null and tries > 0
order by seq limit :limit
