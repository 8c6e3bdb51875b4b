select job_id from penstock_keys where queue = ? and task = ? and key = ?
