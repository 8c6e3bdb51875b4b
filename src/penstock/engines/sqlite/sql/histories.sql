select * from (
  select id, queue, task, state, args, result, error, attempt, max_attempts, key, owner, created_at, started_at,
    finished_at
  from penstock_ended where /* conditions */ order by id desc limit :limit)
union all
select * from (
  select id, queue, task, state, args, result, error, attempt, max_attempts, key, owner, created_at, started_at,
    finished_at
  from penstock_history where /* conditions */ order by id desc limit :limit)
order by id desc limit :limit
