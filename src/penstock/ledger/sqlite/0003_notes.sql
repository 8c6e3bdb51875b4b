-- Notes that must outlive Redis: who may come in, and what was done.
create table penstock_ledger_notes (
    kind text not null,
    key text not null,
    body text not null,
    version integer not null,
    at text not null,
    expires_at text,
    primary key (kind, key)
) without rowid;
create index penstock_ledger_notes_written on penstock_ledger_notes (kind, at);
create index penstock_ledger_notes_over on penstock_ledger_notes (expires_at) where expires_at is not null;
