select
    (select count(*) from (select 1 from penstock_outbox where destination = :destination and dispatched_at is null limit :most)),
    (select min(created_at) from penstock_outbox where destination = :destination and dispatched_at is null),
    (
        select count(*)
        from (select 1 from penstock_outbox where destination = :destination and dispatched_at is null and tries > 0 limit :most)
    )
