update penstock_keys set job_id = ?, until = ? where queue = ? and task = ? and key = ? and job_id = ?
