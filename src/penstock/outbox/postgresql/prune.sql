delete from penstock_outbox where seq = any (array(
    select seq from penstock_outbox
    where destination = %(destination)s and dispatched_at is not null and dispatched_at < coalesce(%(now)s::timestamptz, statement_timestamp()) - %(older_than)s * interval '1 s'
    order by dispatched_at limit %(limit)s
    for update skip locked
))
