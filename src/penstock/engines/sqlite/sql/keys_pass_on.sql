update penstock_keys set job_id = ? where queue = ? and task = ? and key = ? and job_id = ?
