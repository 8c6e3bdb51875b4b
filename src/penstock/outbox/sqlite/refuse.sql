update penstock_outbox set tries = tries + 1, error = :error, next_try_at = :next_try_at
where seq = :seq and dispatched_at is null
