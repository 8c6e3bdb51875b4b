-- Promoted, rescheduled or put off: the times that the engine has given it.
update {jobs} as j set due_at = e.due_at, expires_at = e.expires_at
from {rows(id uuid, due_at timestamptz, expires_at timestamptz)}
where j.id = e.id and j.finished_at is null
