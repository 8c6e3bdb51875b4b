update penstock_edges set is_open = 0 where job_id = ? and place = ?
