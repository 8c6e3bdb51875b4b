update penstock_edges set is_open = 0 where after_id = ? and is_open returning job_id
