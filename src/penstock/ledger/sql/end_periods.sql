-- A period is held for its time, and until its job has ended.
update {jobs} as j set key_held = false
from {rows(queue_name text, job_type text, idempotency_key text)}
where j.queue_name = e.queue_name and j.job_type = e.job_type and j.idempotency_key = e.idempotency_key
    and j.key_held and j.key_kind = 'period' and j.finished_at is not null and j.key_until <= :now
