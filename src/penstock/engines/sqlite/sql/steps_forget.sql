delete from penstock_steps where job_id = ?
