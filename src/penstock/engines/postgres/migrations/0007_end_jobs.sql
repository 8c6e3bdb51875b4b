-- The ends of jobs that do not run.

-- Locked in the order of the ids, as settling does. An active job is asked to stop by its worker's heartbeat.
create function {schema}.cancel(ids text[], reason text, at timestamptz default null) returns void
language plpgsql as $$
declare
    moment constant timestamptz := coalesce(at, now());
    held uuid[] := array(select j.id from {schema}.jobs j where j.id = any(ids::uuid[]) order by j.id for update);
begin
    update {schema}.jobs j
    set cancel_requested = true, note = case when j.cancel_requested then j.note else reason end
    where j.id = any(held) and j.state || '' = 'active';
    perform {schema}.ended(
        {schema}.finish(held, 'cancelled', array_fill(reason, array[cardinality(held)]), moment), moment);
end
$$;

-- What waited past its expiry is cancelled; what was blocked past its deadline ends its wait, as it was told to.
create function {schema}.expire(
    most bigint, expired text, upstream_late text, upstream_missing text, at timestamptz default null)
returns table (job_id text, job_queue text, job_task text, job_owner text, job_state text, missed boolean)
language plpgsql as $$
declare
    moment constant timestamptz := coalesce(at, now());
    past uuid[];
    blocked uuid[];
    skipped uuid[];
    failed uuid[];
begin
    past := array(
        select j.id from {schema}.jobs j
        where j.state in ('waiting', 'delayed') and j.expires_at <= moment
        order by j.expires_at limit most for update skip locked);
    return query
        select j.id::text, j.queue, j.task, j.owner, 'cancelled', false from {schema}.jobs j where j.id = any(past);
    -- Those who waited for these end with them, and have no deadline to pass any more.
    perform {schema}.ended(
        {schema}.finish(past, 'cancelled', array_fill(expired, array[cardinality(past)]), moment), moment);
    blocked := array(
        select j.id from {schema}.jobs j where j.state = 'blocked' and j.deadline_at <= moment
        order by j.deadline_at limit most - cardinality(past) for update skip locked);
    if cardinality(blocked) > 0 then
        return query
            select j.id::text, j.queue, j.task, j.owner,
                case j.at_deadline when 'skip' then 'cancelled' when 'fail' then 'failed' else 'waiting' end, true
            from {schema}.jobs j where j.id = any(blocked);
        skipped := array(select j.id from {schema}.jobs j where j.id = any(blocked) and j.at_deadline = 'skip');
        failed := array(select j.id from {schema}.jobs j where j.id = any(blocked) and j.at_deadline = 'fail');
        perform {schema}.let_go(
            array(select j.id from {schema}.jobs j where j.id = any(blocked) and j.at_deadline = 'run'), moment);
        perform {schema}.ended(
            {schema}.finish(skipped, 'cancelled', array_fill(upstream_late, array[cardinality(skipped)]), moment)
            || {schema}.finish(
                failed, 'failed', array_fill(upstream_missing, array[cardinality(failed)]), moment, upstream_missing),
            moment);
    end if;
end
$$;
