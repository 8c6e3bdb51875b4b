-- What is left of a job when its own record has been pruned: the columns of `background_jobs`, and its owner.
create table {schema}.history (
    id uuid primary key,
    queue text not null,
    task text not null,
    state text not null,
    args text not null,
    result text,
    error text,
    attempt integer not null,
    max_attempts integer not null,
    key text,  -- null: the id itself
    owner text,
    created_at timestamptz not null,
    started_at timestamptz,
    finished_at timestamptz not null
) with (
    autovacuum_vacuum_scale_factor = 0.05,
    autovacuum_vacuum_threshold = 5000,
    autovacuum_vacuum_insert_scale_factor = 0.2
);
create index history_queue on {schema}.history (queue, state, id);
create index history_status on {schema}.history (state, id);
create index history_finished on {schema}.history (finished_at, id);
create index history_created on {schema}.history using brin (created_at) with (pages_per_range = 32);
create index history_key on {schema}.history (key, id) where key is not null;
create index history_owner on {schema}.history (owner, id) where owner is not null;

-- The latest error, or the note of one that ended without an error: the first line that says something, bounded.
-- What comes after it may tell values. Not strict, so that it is inlined.
create function {schema}.error_message(errors jsonb, note text) returns text
language sql immutable as $$
    select left(
        coalesce(
            (errors -> -1 ->> 'type') || ': '
                || coalesce(substring(errors -> -1 ->> 'message' from '[^ \t\r\n][^\r\n]*'), ''),
            substring(note from '[^ \t\r\n][^\r\n]*')
        ),
        500
    )
$$;

-- Every job there is a record of, in the words that the outside is told. Of the same types in each part: else the server
-- would read them all before it joins, sorts or filters.
create view {schema}.background_jobs as
select j.id, j.queue as queue_name, j.task as job_type, j.id::text as bull_job_id,
    case when j.started_at is null then 'pending' else 'processing' end as status,
    j.args as payload_json, null::text as result_json, {schema}.error_message(j.errors, null) as error_message,
    j.attempt as attempts_made, j.max_attempts::integer, coalesce(j.key, j.id::text) as idempotency_key,
    j.created_at::timestamptz, j.started_at, null::timestamptz as finished_at,
    greatest(j.created_at, j.claimed_at)::timestamptz as updated_at
from {schema}.jobs j
union all
select f.id, f.queue, f.task, f.id::text, f.state, f.args, f.result,
    case when f.state <> 'completed' then {schema}.error_message(f.errors, f.note) end,
    f.attempt, f.max_attempts, coalesce(f.key, f.id::text), f.created_at, f.started_at, f.finished_at, f.finished_at
from {schema}.finished f
union all
select h.id, h.queue, h.task, h.id::text, h.state, h.args, h.result, h.error, h.attempt, h.max_attempts,
    coalesce(h.key, h.id::text), h.created_at, h.started_at, h.finished_at, h.finished_at
from {schema}.history h;
