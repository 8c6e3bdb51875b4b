delete from penstock_jobs
where id in (select id from temp.ends)
  and state = 'active'
  and exists (select 1 from temp.ends as e where e.id = penstock_jobs.id and e.token = penstock_jobs.token)
returning id, token, queue, task, lane, key, is_unique
