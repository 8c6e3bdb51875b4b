-- A recovered job has the key of the failed one, unless another holds it by now.
update {jobs} as j set
    key_kind = o.key_kind,
    key_until = case when o.key_kind = 'period' then e.key_until end,
    key_held = o.key_kind is not null and not exists (
        select 1 from {jobs} h where h.queue_name = j.queue_name and h.job_type = j.job_type
            and h.idempotency_key = j.idempotency_key and h.key_held)
from {rows(id uuid, heir uuid, key_until timestamptz)} join {jobs} o on o.id = e.id
where j.id = e.heir
