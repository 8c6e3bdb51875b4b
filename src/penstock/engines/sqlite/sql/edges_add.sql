insert into penstock_edges (job_id, place, after_id, on_failure) values (?, ?, ?, ?)
