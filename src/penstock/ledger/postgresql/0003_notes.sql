-- Notes that must outlive Redis: who may come in, and what was done.
create table {schema}.ledger_notes (
    kind text collate "C" not null,
    key text collate "C" not null,
    body text not null,
    version bigint not null,
    at timestamptz not null,
    expires_at timestamptz,
    primary key (kind, key)
);
create index ledger_notes_written on {schema}.ledger_notes (kind, at);
create index ledger_notes_over on {schema}.ledger_notes (expires_at) where expires_at is not null;
