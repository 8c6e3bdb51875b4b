insert into {jobs} (id, queue_name, job_type, payload_json, max_attempts, idempotency_key, created_at, updated_at,
    owner, spec, due_at, shelf, key_held, key_kind, key_until, expires_at)
select e.id, e.queue_name, e.job_type, e.payload_json, e.max_attempts, e.idempotency_key, e.created_at, e.created_at,
    e.owner, e.spec, e.due_at, e.shelf, e.key_held, e.key_kind, e.key_until, e.expires_at
from {rows(id uuid, queue_name text, job_type text, payload_json text, max_attempts integer, idempotency_key text,
    created_at timestamptz, owner text, spec text, due_at timestamptz, shelf text, key_held boolean, key_kind text,
    key_until timestamptz, expires_at timestamptz, parent uuid, parent_token text)}
where e.parent is null or exists (
    select 1 from {jobs} p where p.id = e.parent and p.token = e.parent_token and p.status = 'completed')
on conflict do nothing
