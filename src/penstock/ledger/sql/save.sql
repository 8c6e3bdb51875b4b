-- Under the token, once. What was handed back from its first run has not started; a snooze, which has a due time, was a
-- run. While one goes on, the row was last updated at its start. One that a person has cancelled does not run again, and keeps the reason as its message.
update {jobs} as j set
    status = case
        when e.status <> 'again' then e.status
        when j.cancel_note is not null then 'cancelled'
        when j.attempts_made <= e.refund and coalesce(e.error, j.error_message) is null and e.due_at is null
            and j.started_at >= j.updated_at then 'pending'
        else 'processing' end,
    result_json = e.result,
    error_message = case
        when e.status = 'completed' then null
        when e.status in ('again', 'cancelled') and j.cancel_note is not null then j.cancel_note
        else coalesce(e.error, j.error_message) end,
    failure = e.failure,
    attempts_made = j.attempts_made - e.refund,
    started_at = case
        when e.status = 'again' and j.attempts_made <= e.refund and coalesce(e.error, j.error_message) is null
            and e.due_at is null and j.started_at >= j.updated_at
        then null else j.started_at end,
    finished_at = case when e.status <> 'again' or j.cancel_note is not null then :now end,
    due_at = coalesce(e.due_at, j.due_at),
    run_over = true,
    updated_at = :now,
    key_held = j.key_held and not (
        (e.status <> 'again' or j.cancel_note is not null)
        and (j.key_kind in ('unfinished', 'started', 'debounce')
             or j.key_kind = 'record' and e.status = 'completed' and not e.keep))
from {rows(id uuid, token text, status text, result text, error text, failure text, refund integer,
    due_at timestamptz, keep boolean)}
where j.id = e.id and j.token = e.token and not j.run_over and j.finished_at is null
returning cast({its}id as text)
