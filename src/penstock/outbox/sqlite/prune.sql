delete from penstock_outbox where seq in (
    select seq from penstock_outbox
    where destination = :destination and dispatched_at is not null and dispatched_at < :before
    order by dispatched_at limit :limit
)
