alter table penstock_background_jobs add column expires_at text;  -- null: never, or not known while it waits for others
alter table penstock_background_jobs add column held_until text;  -- it could not be dispatched: until it is tried again
alter table penstock_background_jobs add column recovered_as text;
drop index penstock_background_jobs_shelf;
create index penstock_background_jobs_shelf on penstock_background_jobs (shelf, (status = 'completed'), finished_at)
    where finished_at is not null;
create index penstock_background_jobs_kept_keys
    on penstock_background_jobs (shelf, (status = 'completed'), finished_at)
    where key_held and key_kind = 'record' and finished_at is not null;

-- Queues that somebody has paused, or resumed.
create table penstock_ledger_queues (
    queue_name text primary key,
    paused integer not null
) without rowid;

create table penstock_ledger_schedules (
    id text primary key,
    spec text not null,
    source text,
    next_at text,
    paused integer not null
) without rowid;
