insert or replace into penstock_history (
  id, queue, task, state, args, result, error, attempt, max_attempts, key, owner, created_at, started_at, finished_at)
select j.id, j.queue, j.task, 'completed', j.args, e.result, null, j.attempt, j.max_attempts, j.key, j.owner,
  j.created_at, j.started_at, ?
from temp.penstock_ends as e cross join penstock_jobs as j on j.id = e.id
where e.keep = 2 and j.flow is null
