-- What a schedule is is the caller's, as JSON text; when its next tick is due is kept here.
create table {schema}.schedules (
    id text collate "C" primary key,
    spec text not null,
    source text,
    next_at timestamptz,
    paused boolean not null,
    last_due timestamptz,
    last_job uuid
);
create index schedules_due on {schema}.schedules (next_at, id) where not paused;

create table {schema}.ticks (
    schedule text collate "C" not null,
    due timestamptz not null,
    fired_at timestamptz not null,
    job_id uuid,
    note text,
    primary key (schedule, due)
);
