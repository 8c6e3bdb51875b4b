create table {schema}.background_jobs (
    id uuid primary key,
    queue_name text not null,
    job_type text not null,
    bull_job_id text,  -- null: not dispatched
    status text not null default 'pending',
    payload_json text not null,
    result_json text,
    error_message text,
    attempts_made integer not null default 0,
    max_attempts integer not null,
    idempotency_key text not null,
    created_at timestamptz not null,
    started_at timestamptz,
    finished_at timestamptz,
    updated_at timestamptz not null,
    owner text,
    spec text not null,  -- how it was put in, as JSON, without its payload
    due_at timestamptz not null,
    token text,  -- of the run that may end it
    fence bigint not null default 0,  -- of that run's claim
    run_over boolean not null default true,  -- that run has ended, and the job is to run again
    worker text,
    request text,  -- of its claim
    attempts_before integer not null default 0,  -- those that Redis has forgotten
    cancel_note text,  -- it is not to run again, and why
    failure text,  -- of a failed one, as JSON: the reason and the error of its dead letter
    shelf text not null,
    key_held boolean not null default false,
    key_kind text,  -- the window; null: the key was minted
    key_until timestamptz,  -- of a period
    constraint status_is_known check (status in ('pending', 'processing', 'completed', 'failed', 'cancelled'))
) with (
    fillfactor = 70,
    autovacuum_vacuum_scale_factor = 0.02,
    autovacuum_vacuum_threshold = 5000,
    autovacuum_vacuum_cost_delay = 0
);
create index background_jobs_queue_name on {schema}.background_jobs (queue_name, id);
create index background_jobs_status on {schema}.background_jobs (status, id);
create index background_jobs_created_at on {schema}.background_jobs (created_at);
create index background_jobs_queue_status on {schema}.background_jobs (queue_name, status, id);
create unique index background_jobs_idempotency_key
    on {schema}.background_jobs (queue_name, job_type, idempotency_key) where key_held;
create index background_jobs_key on {schema}.background_jobs (idempotency_key, id) where key_kind is not null;
create index background_jobs_owner on {schema}.background_jobs (owner, id) where owner is not null;
create index background_jobs_finished_at on {schema}.background_jobs (finished_at) where finished_at is not null;
create index background_jobs_shelf on {schema}.background_jobs (shelf, status, finished_at)
    where finished_at is not null;
create index background_jobs_to_dispatch on {schema}.background_jobs (created_at)
    where bull_job_id is null and finished_at is null;
create index background_jobs_unfinished on {schema}.background_jobs (id) where finished_at is null;
create index background_jobs_held on {schema}.background_jobs (worker) where not run_over;
