update penstock_jobs
set state = :state, lane = :lane, rank = :rank, due_at = :due_at, expires_at = :expires_at, attempt = :attempt,
    started_at = :started_at, token = :token, worker = null, request = null, note = :note, errors = :errors,
    ran_for = :ran_for, suspect = :suspect, crashes = :crashes, rescues = :rescues
where id = :id
