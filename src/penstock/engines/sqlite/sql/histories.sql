select * from (
  select id, queue, task, state, args, result,
    case when state <> 'completed' then
      coalesce(errors ->> '$[#-1].type' || ': ' || (errors ->> '$[#-1].message'), note) end as error,
    attempt, max_attempts, key, owner, created_at, started_at, finished_at
  from penstock_finished where /* conditions */ order by id desc limit :limit)
union all
select * from (
  select id, queue, task, state, args, result, error, attempt, max_attempts, key, owner, created_at, started_at,
    finished_at
  from penstock_history where /* conditions */ order by id desc limit :limit)
order by id desc limit :limit
