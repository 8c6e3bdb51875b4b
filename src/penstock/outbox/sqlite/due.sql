-- Whether it is worth looking closer, without the right to write.
select exists (
    select 1 from penstock_outbox where destination = :destination and dispatched_at is null and order_key is null and next_try_at <= :now
) or exists (select 1 from penstock_outbox where destination = :destination and dispatched_at is null and order_key is not null)
