insert into penstock_finished (
  id, queue, task, lane, state, rank, priority, attempt, max_attempts, created_at, due_at, expires_at, started_at,
  claimed_at, finished_at, token, worker, request, key, is_unique, key_window, owner, cancel_requested,
  suspect, crashes, rescues, ran_for, recovered_from, recovered_as, traits, shelf, flow, origin, deadline_at,
  at_deadline, note, options, args, progress, result, errors
) values (
  :id, :queue, :task, :lane, :state, :rank, :priority, :attempt, :max_attempts, :created_at, :due_at,
  :expires_at, :started_at, :claimed_at, :finished_at, :token, :worker, :request, :key, :is_unique, :key_window,
  :owner, :cancel_requested, :suspect, :crashes, :rescues, :ran_for, :recovered_from, :recovered_as,
  :traits | :pinned, :shelf, :flow, :origin, :deadline_at, :at_deadline, :note, :options, :args,
  :progress, :result, :errors
)
