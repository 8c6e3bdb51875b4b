delete from penstock_outbox where seq in (
    select seq from penstock_outbox
    where dispatched_at is not null and dispatched_at < :before
    order by dispatched_at limit :limit
)
