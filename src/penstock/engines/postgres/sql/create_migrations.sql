create table {schema}.migrations (name text primary key, applied_at timestamptz not null default now())
