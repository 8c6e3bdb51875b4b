select * from penstock_jobs where id = ? and token = ? and state = 'active'
