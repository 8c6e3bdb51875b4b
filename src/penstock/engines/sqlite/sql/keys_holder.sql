select job_id, until from penstock_keys where queue = ? and task = ? and key = ?
