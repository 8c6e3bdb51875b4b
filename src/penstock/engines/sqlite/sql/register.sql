insert or replace into penstock_workers (id, name, queues, slots, started_at) values (?, ?, ?, ?, ?)
