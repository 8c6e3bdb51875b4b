delete from penstock_schedules where id in (select value from json_each(?))
