-- What Redis has forgotten begins there with no attempts; unless another has restored it, and it has begun since.
update {jobs} as j set attempts_before = j.attempts_made
from {rows(id uuid, attempts integer, token text)}
where j.id = e.id and j.finished_at is null
    and j.attempts_made = cast(e.attempts as integer) and coalesce(j.token, '') = coalesce(e.token, '')
returning cast({its}id as text)
