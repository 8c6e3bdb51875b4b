id, queue, task, lane, state, priority, attempt, max_attempts, created_at, due_at, expires_at, started_at, claimed_at,
  finished_at, worker, key, is_unique, owner, cancel_requested, suspect, crashes, rescues, ran_for, recovered_from,
  recovered_as, traits, flow, origin, deadline_at, note, options, 'null' as args, progress, result, errors
