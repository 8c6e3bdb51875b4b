select seq, id, jobs, order_key, created_at, next_try_at, tries, error, dispatched_at from penstock_outbox limit 0
