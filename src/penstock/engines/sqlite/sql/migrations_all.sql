select name from penstock_migrations
