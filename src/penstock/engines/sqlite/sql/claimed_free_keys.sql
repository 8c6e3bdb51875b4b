-- Of those whose keys are free once they are claimed, but for the rest of a period.
delete from penstock_keys where (queue, task, key, job_id) in (
  select queue, task, key, id from penstock_jobs
  where id in (select value from json_each(:ids)) and traits & 128
) and (until is null or until <= :now)
