select * from penstock_jobs where id = ?
