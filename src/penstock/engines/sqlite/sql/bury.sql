insert or replace into penstock_dead_letters (
  job_id, queue, task, args, key, is_unique, key_window, priority, max_attempts, owner, options, reason, error,
  attempts, first_started_at, ran_for, failed_at
) values (
  :id, :queue, :task, :args, :key, :is_unique, :key_window, :priority, :max_attempts, :owner, :options, :reason,
  :error, :attempt, :started_at, :ran_for, :now
)
