insert into {schema}.history as h (id, queue, task, state, args, result, error, attempt, max_attempts, key, owner,
        created_at, started_at, finished_at)
