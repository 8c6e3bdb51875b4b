select cast(j.id as text), j.queue_name, j.job_type, j.idempotency_key, j.key_kind, j.status
from {rows(queue_name text, job_type text, idempotency_key text)}
join {jobs} j on j.queue_name = e.queue_name and j.job_type = e.job_type
    and j.idempotency_key = e.idempotency_key and j.key_held
