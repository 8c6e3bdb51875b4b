-- Effects that have happened: `ctx.once` writes them in your transactions.
-- Those whose time is over are removed by `penstock effects prune`, and by relays from the database of an outbox.
-- Instants are microseconds since 1970, UTC.
create table if not exists penstock_effects (
    app text not null,  -- PENSTOCK_OUTBOX_NAME, else PENSTOCK_SCHEMA: of whose tasks
    task text not null,
    key text not null,
    name text not null,
    job_id text not null,
    first_at integer not null,
    expires_at integer not null,
    primary key (app, task, key, name)
) without rowid;
create index if not exists penstock_effects_expire on penstock_effects (expires_at);
