select * from penstock_schedules where id = ?
