create table if not exists {migrations} (name text primary key)
