-- Small documents that are kept with the jobs.
create table {schema}.notes (
    kind text collate "C" not null,
    key text collate "C" not null,
    body text not null,
    version bigint not null,
    at timestamptz not null,
    expires_at timestamptz,
    primary key (kind, key)
) with (autovacuum_vacuum_scale_factor = 0.05, autovacuum_vacuum_threshold = 1000);
create index notes_written on {schema}.notes (kind, at);
create index notes_over on {schema}.notes (expires_at) where expires_at is not null;
