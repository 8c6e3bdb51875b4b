-- What Redis has forgotten begins there with no attempts.
update {jobs} as j set attempts_before = j.attempts_made
from {rows(id uuid)} where j.id = e.id and j.finished_at is null
