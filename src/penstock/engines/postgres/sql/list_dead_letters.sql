select job_id::text as job_id, queue, task, args, coalesce(key, job_id::text) as key, is_unique, priority,
    max_attempts, owner, options, reason, error::text, attempts, first_started_at, ran_for, failed_at,
    recovered_at, recovered_as::text
from {schema}.dead_letters where {where} order by dead_letters.job_id desc limit %(limit)s
