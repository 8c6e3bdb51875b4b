insert into penstock_jobs (
  queue, task, lane, state, rank, priority, max_attempts, created_at, due_at, expires_at, options,
  id, key, is_unique, owner, args
) values (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?, ?, ?, ?, ?)
