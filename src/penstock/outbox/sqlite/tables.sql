-- Jobs on their way to the engine, written in your transactions; `penstock relay` brings them there.
-- A row that is dispatched stays for a while (PENSTOCK_KEEP_OUTBOX_FOR) and is then removed.
-- Instants are microseconds since 1970, UTC.
create table if not exists penstock_outbox (
    seq integer primary key autoincrement,
    id text not null unique,  -- of the job: the engine knows it again
    destination text not null,  -- the engine, or PENSTOCK_OUTBOX_NAME: whose relays are to bring it
    jobs text not null,  -- JSON; several only where they are tied together
    order_key text,  -- rows of one order key are dispatched one after the other
    created_at integer not null,
    next_try_at integer not null,  -- while a relay has the row: when another may take it
    tries integer not null default 0,  -- those that were refused
    error text,  -- of the last one
    dispatched_at integer,
    duplicate_of text  -- the job that held its key at the dispatch: no other was made
);
create index if not exists penstock_outbox_due on penstock_outbox (destination, next_try_at, seq)
    where dispatched_at is null and order_key is null;
create index if not exists penstock_outbox_in_order on penstock_outbox (destination, order_key, seq)
    where dispatched_at is null and order_key is not null;
create index if not exists penstock_outbox_waiting on penstock_outbox (destination, created_at)
    where dispatched_at is null;
create index if not exists penstock_outbox_refused on penstock_outbox (destination, seq)
    where dispatched_at is null and tries > 0;
create index if not exists penstock_outbox_dispatched on penstock_outbox (destination, dispatched_at)
    where dispatched_at is not null;
