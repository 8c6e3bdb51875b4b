-- What another program writes into a job must be readable, or it would break every list. Checked by types, not by
-- constraints of the table: those are read anew from their text for every statement, which took a tenth of an enqueue.
create domain {schema}.job_priority as smallint constraint priority_is_1_to_4 check (value between 1 and 4);
create domain {schema}.job_attempts as integer constraint one_attempt_at_least check (value >= 1);
create domain {schema}.job_state as text
    constraint state_is_unfinished check (value in ('waiting', 'delayed', 'blocked', 'active'));
create domain {schema}.job_instant as timestamptz
    constraint instants_before_year_9000 check (value < timestamptz '9000-01-01 00:00:00+00');

-- Unfinished jobs: the hot table, kept narrow. What ends is moved to `finished`.
-- `args`, `options` and `result` are JSON text exactly as given; a `key` that is null is the id itself.
create table {schema}.jobs (
    id uuid primary key,
    queue text not null,
    task text not null,
    lane text not null,
    state {schema}.job_state not null,
    args text not null,
    key text,
    is_unique boolean not null default false,
    priority {schema}.job_priority not null,
    attempt integer not null default 0,
    max_attempts {schema}.job_attempts not null,
    rank timestamptz not null,
    created_at {schema}.job_instant not null,
    due_at {schema}.job_instant not null,
    expires_at {schema}.job_instant,
    started_at timestamptz,
    claimed_at timestamptz,
    owner text,
    options text,
    worker text,
    request text,
    token uuid,
    ended_token uuid,  -- of the latest run that ended and left the job to run again
    progress json,
    note text,
    errors jsonb,
    ran_for double precision not null default 0,
    suspect boolean not null default false,
    crashes integer not null default 0,
    rescues integer not null default 0,
    cancel_requested boolean not null default false,
    recovered_from uuid,
    -- Nearly always null or false: what ties it to others, and what else its end or its claim must see to.
    after uuid[],  -- what it was to wait for; what it still waits for is in `edges`
    deadline_at timestamptz,
    at_deadline text,
    flow text,
    flow_place bigint,
    shelf text,
    origin text,
    feeds boolean not null default false,  -- others may come that name it
    tied boolean not null default false,  -- its end is told to others: it feeds, or is in a flow
    stepped boolean not null default false,  -- it has rows in `steps`
    limited boolean not null default false,  -- it runs, and counts as active under a limit
    span text,  -- how long it holds its key; null: while its record lives
    span_seconds double precision
) with (
    fillfactor = 80,
    autovacuum_vacuum_scale_factor = 0.02,
    autovacuum_vacuum_threshold = 5000,
    autovacuum_vacuum_insert_scale_factor = 0.2,
    autovacuum_analyze_scale_factor = 0.05,
    autovacuum_vacuum_cost_delay = 0
);
create index jobs_claim on {schema}.jobs (lane, rank, id) where state = 'waiting';
create index jobs_due on {schema}.jobs (due_at) where state = 'delayed';
create index jobs_held on {schema}.jobs (worker) where state = 'active';
create index jobs_expiring on {schema}.jobs (expires_at)
    where expires_at is not null and state in ('waiting', 'delayed');
create index jobs_blocked on {schema}.jobs (deadline_at) where state = 'blocked';
create index jobs_flow on {schema}.jobs (flow) where flow is not null;
create index jobs_owner on {schema}.jobs (owner, id) where owner is not null;
create index jobs_key on {schema}.jobs (key, id) where key is not null;
-- A task or a queue that is rare among them is found by the pages it is on, for next to nothing.
create index jobs_rare on {schema}.jobs using brin (
    task text_bloom_ops(n_distinct_per_range = 32), queue text_bloom_ops(n_distinct_per_range = 32)
) with (pages_per_range = 32);

create table {schema}.finished (
    id uuid primary key,
    queue text not null,
    task text not null,
    lane text not null,
    state text not null,
    args text not null,
    key text,
    is_unique boolean not null,
    priority smallint not null,
    attempt integer not null,
    max_attempts integer not null,
    created_at timestamptz not null,
    due_at timestamptz not null,
    expires_at timestamptz,
    started_at timestamptz,
    claimed_at timestamptz,
    finished_at timestamptz not null,
    owner text,
    options text,
    worker text,
    token uuid,  -- of the run that ended it, or of the latest that its holder had ended
    progress json,
    result text,
    note text,
    errors jsonb,
    ran_for double precision not null,
    suspect boolean not null,
    crashes integer not null,
    rescues integer not null,
    cancel_requested boolean not null,
    recovered_from uuid,
    recovered_as uuid,
    after uuid[],
    deadline_at timestamptz,
    flow text,
    flow_place bigint,
    shelf text,
    origin text,
    stepped boolean not null default false,
    pinned boolean not null default false  -- its flow has not ended: it is neither pruned nor counted as kept
) with (
    autovacuum_vacuum_scale_factor = 0.05,
    autovacuum_vacuum_threshold = 5000,
    autovacuum_vacuum_insert_scale_factor = 0.05  -- what is new is not in finished_task before a vacuum
);
-- Failed and cancelled jobs are kept under one bound, completed ones under another.
create index finished_age on {schema}.finished (coalesce(shelf, queue), (state = 'completed'), finished_at, id)
    where not pinned;
create index finished_flow on {schema}.finished (flow) where flow is not null;
-- Completed jobs are found by id, newest first; an index for each filter would cost every settle. A task or a queue
-- that is rare among them is found by the pages it is on, for a third of the price.
create index finished_task on {schema}.finished using brin (
    task text_bloom_ops(n_distinct_per_range = 32), queue text_bloom_ops(n_distinct_per_range = 32)
) with (pages_per_range = 32);
create index finished_troubled on {schema}.finished (queue, task, id) where state <> 'completed';
create index finished_owner on {schema}.finished (owner, id) where owner is not null;
create index finished_key on {schema}.finished (key, id) where key is not null;

-- Who waits for whom, as long as they do.
create table {schema}.edges (
    job_id uuid not null,
    upstream uuid not null,
    on_failure text not null,
    primary key (job_id, upstream)
);
create index edges_upstream on {schema}.edges (upstream);

create table {schema}.flows (
    id text primary key,
    name text not null,
    created_at timestamptz not null,
    unfinished bigint not null
) with (fillfactor = 50);
create sequence {schema}.flow_places;

-- A job that has ended, and what others must know of it.
create type {schema}.ended_job as (id uuid, state text, flow text, feeds boolean);

-- A completed job of which there is more to see to than of most.
create type {schema}.completed_job as (
    id uuid, queue text, task text, key text, lane text, flow text, feeds boolean, tied boolean, stepped boolean,
    limited boolean, span text, keep boolean);

-- A run that has ended and counted as active.
create type {schema}.ended_run as (id uuid, queue text, lane text, healthy boolean);

-- Results of named pieces of a run, in the order in which they were first kept.
create table {schema}.steps (
    job_id uuid not null,
    name text not null,
    place bigint generated always as identity,
    value text not null,
    primary key (job_id, name)
);

-- Who holds a given key. Minted keys need no row.
create table {schema}.keys (
    queue text not null,
    task text not null,
    key text not null,
    job_id uuid not null,
    until timestamptz,  -- of a period: it is held that long at least
    outlives boolean not null default false,  -- its holder has left no record
    primary key (queue, task, key)
) with (autovacuum_vacuum_scale_factor = 0.05, autovacuum_vacuum_threshold = 5000);

create index keys_left on {schema}.keys (until) where outlives;

create table {schema}.dead_letters (
    job_id uuid primary key,
    queue text not null,
    task text not null,
    args text not null,
    key text,
    is_unique boolean not null,
    priority smallint not null,
    max_attempts integer not null,
    owner text,
    options text,
    reason text not null,
    error jsonb,
    attempts integer not null,
    first_started_at timestamptz,
    ran_for double precision not null,
    failed_at timestamptz not null,
    recovered_at timestamptz,
    recovered_as uuid,
    span text,
    span_seconds double precision
);
create index dead_letters_open on {schema}.dead_letters (job_id) where recovered_as is null;
create index dead_letters_queue on {schema}.dead_letters (queue, task, job_id);
create index dead_letters_owner on {schema}.dead_letters (owner, job_id) where owner is not null;
create index dead_letters_failed on {schema}.dead_letters (failed_at);

create table {schema}.queues (
    name text primary key,
    paused boolean not null default false
);

-- The latest clean-up of a queue that is to be done once, by whoever comes first.
create table {schema}.cleanups (
    queue text primary key,
    run text not null
);

-- How many jobs are in each state: differences, only ever inserted, folded by `tidy`; the sum is the count.
-- `lane` is null for the queue's open lane; the state 'dead' counts dead letters not yet recovered.
create table {schema}.counts (
    queue text not null,
    lane text,
    state text not null,
    n bigint not null
) with (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 2000, autovacuum_vacuum_cost_delay = 0);

create index counts_lane on {schema}.counts (lane) where lane is not null;

-- Lanes beside the open ones that have no limits of their own. A parked lane is open to workers that know its task by
-- another signature.
create table {schema}.lanes (
    lane text primary key,
    queue text not null,
    task text not null,
    misfit text,
    reason text not null
);

create table {schema}.workers (
    id text primary key,
    name text not null,
    queues text[] not null,
    slots integer not null,
    started_at timestamptz not null,
    expires_at timestamptz not null,
    void_requests text[] not null default '{}'  -- claims given up by their caller, should they still arrive
) with (fillfactor = 50);

-- The due time less the head start of the priority. Stable, as what it is made of: else it is not inlined.
create function {schema}.rank_of(due timestamptz, priority integer) returns timestamptz
language sql stable as $$
    select due - case priority when 1 then interval '600 s' when 2 then interval '120 s'
                               when 4 then interval '-300 s' else interval '0 s' end
$$;

-- A hint for those who wait. NOTIFY serialises commits: each waits until the one before it is written to disk. So of
-- our own transactions, which are brief, two at a time send it; who was silent and is seen too late is found by those
-- who listen: they look once more a moment later. A caller's may stay open for long, and speaks for itself.
-- One expression, so that it is inlined; null where it stays silent.
create function {schema}.wake(queue text) returns void
language sql as $$
    select case
        when current_setting('penstock.brief', true) is distinct from 'on'
            or pg_try_advisory_xact_lock(hashtextextended('{schema}/' || queue, 1))
            or pg_try_advisory_xact_lock(hashtextextended('{schema}/' || queue, 2))
        then pg_notify('penstock_{schema}', queue)
    end
$$;
