select id::text, order_key, tries, error, extract(epoch from next_try_at - coalesce(%(now)s::timestamptz, statement_timestamp()))::float8
from penstock_outbox
where destination = %(destination)s and dispatched_at is null and tries > 0
order by seq limit %(limit)s
