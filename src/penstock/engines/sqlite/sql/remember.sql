insert or replace into penstock_history (
  id, queue, task, state, args, result, error, attempt, max_attempts, key, owner, created_at, started_at, finished_at)
select
  id, queue, task, state, args, result, error, attempt, max_attempts, key, owner, created_at, started_at, finished_at
from penstock_ended where id in (select value from json_each(?))
