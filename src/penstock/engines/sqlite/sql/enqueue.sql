insert into penstock_jobs (
  id, queue, task, lane, state, rank, priority, max_attempts, created_at, due_at, expires_at,
  key, is_unique, owner, options, args
) values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
