update penstock_effects set job_id = ? where task = ? and key = ?
