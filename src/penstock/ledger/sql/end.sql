-- Ends that were written elsewhere first.
update {jobs} as j set
    status = e.status, result_json = e.result, error_message = e.error, finished_at = coalesce(e.finished_at, :now),
    attempts_made = case when e.attempt is null then j.attempts_made else j.attempts_before + e.attempt end,
    failure = e.failure, run_over = true, updated_at = :now,
    key_held = j.key_held and j.key_kind not in ('unfinished', 'started', 'debounce')
from {rows(id uuid, status text, result text, error text, finished_at timestamptz, attempt integer,
    failure text)}
where j.id = e.id and j.finished_at is null and (j.run_over or not :idle)
