insert or replace into penstock_quarters (at, queue, measures) values (?, ?, ?)
