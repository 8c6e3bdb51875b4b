update {jobs} as j set
    bull_job_id = cast(j.id as text), held_until = null,
    error_message = case when j.held_until is not null and j.attempts_made = 0 then null else j.error_message end
from {rows(id uuid)} where j.id = e.id and (j.bull_job_id is null or j.held_until is not null)
