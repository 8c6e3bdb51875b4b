update {jobs} as j set
    status = 'processing', token = e.token, fence = e.fence, worker = :worker, request = :request, run_over = false,
    attempts_made = j.attempts_before + e.attempt, started_at = coalesce(j.started_at, :now), updated_at = :now,
    bull_job_id = cast(j.id as text), key_held = j.key_held and j.key_kind not in ('started', 'debounce')
from {rows(id uuid, token text, fence bigint, attempt integer)}
where j.id = e.id and j.finished_at is null and j.fence < e.fence
    and not exists (select 1 from {queues} q where q.queue_name = j.queue_name and q.paused)
