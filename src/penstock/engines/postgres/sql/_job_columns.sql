id::text as id, queue, task, lane, state, args, coalesce(key, id::text) as key, is_unique, priority, attempt,
    max_attempts, created_at, due_at, owner, options, expires_at, started_at, claimed_at, worker, progress::text,
    note, errors::text, ran_for, suspect, crashes, rescues, cancel_requested, recovered_from::text,
    after::text[] as after, deadline_at, flow, flow_place, origin
