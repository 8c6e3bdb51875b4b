insert or replace into penstock_minutes (at, queue, task, measures) values (?, ?, ?, ?)
