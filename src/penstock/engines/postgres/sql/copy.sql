copy {schema}.jobs (id, queue, task, lane, state, args, key, is_unique, priority, max_attempts, owner, options,
    created_at, due_at, rank, expires_at) from stdin
