-- Effects that have been made: one record of each task, key and name, written in the transaction that makes it.
create table {schema}.effects (
    task text collate "C" not null,
    key text collate "C" not null,
    name text collate "C" not null,
    job_id uuid not null,
    first_at timestamptz not null,
    expires_at timestamptz not null,
    primary key (task, key, name)
) with (autovacuum_vacuum_scale_factor = 0.05, autovacuum_vacuum_threshold = 5000);
create index effects_key on {schema}.effects (key, task, name);
create index effects_name on {schema}.effects (name, task, key);
create index effects_expire on {schema}.effects (expires_at);

-- Whether a job may run again, so that what it has done must be known: it is unfinished, or can be recovered.
create function {schema}.may_run_again(job uuid) returns boolean
language sql stable as $$
    select exists (select from {schema}.jobs j where j.id = job)
        or exists (select from {schema}.dead_letters d where d.job_id = job and d.recovered_as is null)
$$;

-- Record an effect; whether it is the first of its name for this task and key.
create function {schema}.once(
    task text, key text, name text, job text, keep_for double precision, at timestamptz default null
) returns boolean
language plpgsql as $$
#variable_conflict use_variable
declare
    moment constant timestamptz := coalesce(at, clock_timestamp());
begin
    insert into {schema}.effects as e
    values (task, key, name, job::uuid, moment, moment + keep_for * interval '1 s')
    on conflict on constraint effects_pkey do update
    set job_id = excluded.job_id, first_at = excluded.first_at, expires_at = excluded.expires_at
    where e.expires_at <= moment and not {schema}.may_run_again(e.job_id);
    return found;
end
$$;

-- Complete one run in the transaction of whoever calls, and put in what follows from it; whether it was the caller's.
create function {schema}.complete_run(
    id text, token text, result text, note text, ran_for double precision, keep boolean, healthy boolean,
    followers text, at timestamptz default null
) returns boolean
language plpgsql as $$
#variable_conflict use_variable
declare
    moment constant timestamptz := coalesce(at, clock_timestamp());
    refused text[];
begin
    select s.refused into refused from {schema}.settle(
        id, token, array[result], array[note], ran_for::text, case when keep then 't' else 'h' end,
        '', '', '{}', '{}', 0, '{}', '{}', 0, case healthy when true then 't' when false then 'f' else '-' end, moment) s;
    if refused is not null then
        return false;
    end if;
    if followers is not null then
        -- As one that was rescued and may have come as far before, so that the ids may be known.
        perform {schema}.enqueue(followers::json, true, at);
    end if;
    return true;
end
$$;
