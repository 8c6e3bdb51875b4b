-- Jobs on their way to the engine, written in your transactions; `penstock relay` brings them there.
-- A row that is dispatched stays for a while (PENSTOCK_KEEP_OUTBOX_FOR) and is then removed.
create table if not exists penstock_outbox (
    seq bigint generated always as identity primary key,
    id uuid not null unique,  -- of the job: the engine knows it again
    destination text collate "C" not null,  -- the engine, or PENSTOCK_OUTBOX_NAME: whose relays are to bring it
    jobs text not null,  -- JSON; several only where they are tied together
    order_key text collate "C",  -- rows of one order key are dispatched one after the other
    created_at timestamptz not null default clock_timestamp(),
    next_try_at timestamptz not null default clock_timestamp(),
    tries integer not null default 0,  -- those that were refused
    error text,  -- of the last one
    dispatched_at timestamptz,
    duplicate_of uuid  -- the job that held its key at the dispatch: no other was made
) with (
    fillfactor = 80,
    autovacuum_vacuum_scale_factor = 0.02,
    autovacuum_vacuum_threshold = 5000,
    autovacuum_vacuum_cost_delay = 0
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
