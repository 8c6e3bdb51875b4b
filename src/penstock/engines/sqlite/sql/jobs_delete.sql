delete from penstock_jobs where id = ?
