delete from penstock_keys
where until <= ? and not exists (select 1 from penstock_jobs as j where j.id = penstock_keys.job_id)
