-- Debounced: the newcomer's payload, owner and due time; and it is to be dispatched again. Its expiry moves with it.
update {jobs} as j set
    payload_json = e.payload_json, owner = e.owner, spec = e.spec, due_at = e.due_at, bull_job_id = null, updated_at = :now,
    expires_at = case when j.expires_at is not null then e.expires_at end
from {rows(id uuid, queue_name text, job_type text, idempotency_key text, payload_json text, owner text, spec text,
    due_at timestamptz, expires_at timestamptz, parent uuid, parent_token text)}
where j.queue_name = e.queue_name and j.job_type = e.job_type and j.idempotency_key = e.idempotency_key
    and j.key_held and j.key_kind = 'debounce' and j.finished_at is null
    and not exists (select 1 from {jobs} n where n.id = e.id)
    and (e.parent is null or exists (
        select 1 from {jobs} p where p.id = e.parent and p.token = e.parent_token and p.status = 'completed'))
