insert into penstock_migrations (number, name, applied_at) values (?, ?, ?)
