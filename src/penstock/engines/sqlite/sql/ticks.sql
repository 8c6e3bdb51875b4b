select due, fired_at, job_id, note from penstock_ticks where schedule = ? order by due desc limit ?
