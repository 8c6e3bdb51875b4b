-- The columns come in the order of a Claim's fields, behind the rank to sort by. And whether keys are free now.
select json_group_array(json_array(
  rank, id, token, queue, task, lane, args, key, attempt, max_attempts, priority, owner, options, suspect, crashes,
  created_at, due_at
)), max(traits & 128) from penstock_jobs
where id in (select value from json_each(?))
