delete from penstock_migrations where false
