select * from penstock_dead_letters where job_id = ?
