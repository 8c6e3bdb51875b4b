insert or ignore into penstock_keys (queue, task, key, job_id, until) values (?, ?, ?, ?, ?)
