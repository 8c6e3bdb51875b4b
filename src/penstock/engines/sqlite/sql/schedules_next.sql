select * from penstock_schedules where next_at is not null and not paused order by next_at, id limit ?
