update penstock_dead_letters set recovered_as = ?, recovered_at = ? where job_id = ?
