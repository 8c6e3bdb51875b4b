select distinct value as id from json_each(?)
where not exists (select 1 from penstock_jobs where id = value)
  and not exists (select 1 from penstock_finished where id = value)
  and not exists (select 1 from penstock_dead_letters where job_id = value)
