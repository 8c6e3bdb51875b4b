id::text as id, queue as queue_name, task as job_type, id::text as bull_job_id, state as status,
    args as payload_json, result as result_json, attempt as attempts_made, max_attempts,
    coalesce(key, id::text) as idempotency_key, created_at, started_at, finished_at, finished_at as updated_at, owner
