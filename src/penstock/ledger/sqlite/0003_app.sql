-- Whose ledger it is, by the prefix of its keys in Redis. One row.
create table penstock_ledger_app (
    schema text primary key
) without rowid;
