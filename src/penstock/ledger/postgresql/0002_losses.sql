alter table {schema}.background_jobs
    add column expires_at timestamptz,  -- null: never, or not known while it waits for others
    add column held_until timestamptz,  -- it could not be dispatched as it is: until it is tried again
    add column recovered_as uuid;
drop index {schema}.background_jobs_shelf;
create index background_jobs_shelf on {schema}.background_jobs (shelf, (status = 'completed'), finished_at)
    where finished_at is not null;
create index background_jobs_kept_keys on {schema}.background_jobs (shelf, (status = 'completed'), finished_at)
    where key_held and key_kind = 'record' and finished_at is not null;

-- Queues that somebody has paused, or resumed.
create table {schema}.ledger_queues (
    queue_name text primary key,
    paused boolean not null
);

create table {schema}.ledger_schedules (
    id text primary key,
    spec text not null,
    source text,
    next_at timestamptz,
    paused boolean not null
);
