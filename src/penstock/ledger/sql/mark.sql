update {jobs} as j set bull_job_id = cast(j.id as text)
from {rows(id uuid)} where j.id = e.id and j.bull_job_id is null
