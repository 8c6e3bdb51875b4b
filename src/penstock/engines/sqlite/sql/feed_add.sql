insert into penstock_feed (number, at, event, job_id, queue, task, owner, body) values (?, ?, ?, ?, ?, ?, ?, ?)
