select number, at, event, job_id, queue, task, owner, body from penstock_feed
where number > ? order by number limit ?
