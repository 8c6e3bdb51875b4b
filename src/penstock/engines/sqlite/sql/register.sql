insert or replace into penstock_workers (id, name, queues, slots, info, started_at) values (?, ?, ?, ?, ?, ?)
