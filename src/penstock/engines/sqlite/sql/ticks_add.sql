insert or replace into penstock_ticks (schedule, due, fired_at, job_id, note) values (?, ?, ?, ?, ?)
