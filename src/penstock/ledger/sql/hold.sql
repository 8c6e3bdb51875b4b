-- It could not be dispatched as it is; why, where no run of its own has left an error.
update {jobs} as j set
    held_until = e.held_until, error_message = case when j.attempts_made = 0 then e.error else j.error_message end
from {rows(id uuid, held_until timestamptz, error text)}
where j.id = e.id and j.finished_at is null
