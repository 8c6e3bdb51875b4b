-- One job that has nothing but a payload and is due at once, as most are that come alone.
create function {schema}.enqueue_plain(
    id uuid, args text, queue text, task text, priority smallint, max_attempts integer,
    at timestamptz)
returns void
language plpgsql as $$
#variable_conflict use_variable
declare
    moment constant timestamptz := coalesce(at, clock_timestamp());
begin
    insert into {schema}.jobs (
        id, queue, task, lane, state, args, priority, max_attempts, rank, created_at, due_at)
    values (
        id, queue, task, queue, 'waiting', args, priority, max_attempts, {schema}.rank_of(moment, priority), moment,
        moment);
    insert into {schema}.counts (queue, state, n) values (queue, 'waiting', 1);
    perform {schema}.wake(queue);
end
$$;
