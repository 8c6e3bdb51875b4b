insert into penstock_finished (
  id, queue, task, lane, state, rank, priority, attempt, max_attempts, created_at, due_at, expires_at, started_at,
  claimed_at, finished_at, token, worker, request, key, is_unique, key_window, owner, cancel_requested,
  suspect, crashes, rescues, ran_for, recovered_from, recovered_as, traits, shelf, flow, origin, deadline_at,
  at_deadline, note, options, args, progress, result, errors
)
select
  j.id, j.queue, j.task, j.lane, 'completed', j.rank, j.priority, j.attempt, j.max_attempts, j.created_at,
  j.due_at, j.expires_at, j.started_at, j.claimed_at, :now, j.token, j.worker, j.request, j.key, j.is_unique,
  j.key_window, j.owner, j.cancel_requested, j.suspect, j.crashes, j.rescues, j.ran_for + e.ran_for,
  j.recovered_from, j.recovered_as, case when j.flow is null then j.traits else j.traits | 64 end, j.shelf, j.flow,
  j.origin, j.deadline_at, j.at_deadline, e.note, j.options, j.args, j.progress, e.result, j.errors
from temp.penstock_ends as e cross join penstock_jobs as j on j.id = e.id
where e.keep = 1 or j.flow is not null
