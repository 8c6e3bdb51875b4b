create table if not exists beats (worker text primary key, until integer not null, memory integer) without rowid
