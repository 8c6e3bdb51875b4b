select seq, id, destination, jobs, order_key, created_at, next_try_at, tries, error, dispatched_at, duplicate_of from penstock_outbox limit 0
