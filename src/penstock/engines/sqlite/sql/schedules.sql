select * from penstock_schedules order by id
