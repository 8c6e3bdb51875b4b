job_id, queue, task, 'null' as args, key, is_unique, priority, max_attempts, owner, options, reason, error, attempts,
  first_started_at, ran_for, failed_at, recovered_at, recovered_as
