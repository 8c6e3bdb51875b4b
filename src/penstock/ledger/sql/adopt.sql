-- A job that only Redis knew of.
insert into {jobs} (id, queue_name, job_type, bull_job_id, status, payload_json, result_json, error_message,
    attempts_made, max_attempts, idempotency_key, created_at, started_at, finished_at, updated_at, owner, spec, due_at,
    shelf, expires_at)
select e.id, e.queue_name, e.job_type, cast(e.id as text), e.status, e.payload_json, e.result_json, e.error_message,
    e.attempts_made, e.max_attempts, e.idempotency_key, e.created_at, e.started_at, e.finished_at, :now, e.owner,
    e.spec, e.due_at, e.queue_name, e.expires_at
from {rows(id uuid, queue_name text, job_type text, status text, payload_json text, result_json text,
    error_message text, attempts_made integer, max_attempts integer, idempotency_key text, created_at timestamptz,
    started_at timestamptz, finished_at timestamptz, owner text, spec text, due_at timestamptz,
    expires_at timestamptz)}
where true
on conflict do nothing
