select * from penstock_jobs where worker = ? and state = 'active' order by id limit ?
