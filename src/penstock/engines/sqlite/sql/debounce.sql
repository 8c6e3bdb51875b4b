update penstock_jobs
set state = :state, due_at = :due_at, rank = :rank, expires_at = expires_at + :due_at - due_at, priority = :priority,
    lane = :lane, args = :args, owner = :owner, options = :options
where id = :id
