delete from penstock_keys where queue = :queue and task = :task and key = :key and job_id = :id
