insert or replace into penstock_totals (queue, task, measures) values (?, ?, ?)
