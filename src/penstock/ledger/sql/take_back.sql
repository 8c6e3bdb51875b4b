-- Rescued: whoever held it may not end it any more.
update {jobs} as j set token = null, run_over = true, updated_at = :now
from {rows(id uuid, worker text)}
where j.id = e.id and j.worker = e.worker and j.finished_at is null
