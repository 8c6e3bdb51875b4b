select * from penstock_jobs where worker = ? and state = 'active' and request = ?
