create table if not exists beats (worker text primary key, until integer not null) without rowid
