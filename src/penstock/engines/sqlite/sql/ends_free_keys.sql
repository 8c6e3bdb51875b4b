-- Without a record, the key is free again, but for the rest of a period.
delete from penstock_keys where (queue, task, key, job_id) in (
  select j.queue, j.task, j.key, j.id
  from temp.penstock_ends as e cross join penstock_jobs as j on j.id = e.id
  where j.is_unique and not (e.keep = 1 or j.flow is not null)
) and (until is null or until <= ?)
