id, queue, task, lane, state, args, key, is_unique, priority, attempt, max_attempts, created_at, due_at,
        expires_at, started_at, claimed_at, finished_at, owner, options, worker, token, progress, result, note,
        errors, ran_for, suspect, crashes, rescues, cancel_requested, recovered_from, after, deadline_at, flow,
        flow_place, shelf, origin, stepped, pinned
