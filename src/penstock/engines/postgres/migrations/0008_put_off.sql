create function {schema}.give_key_up(queue text, task text, key text, holder uuid) returns void
language plpgsql as $$
#variable_conflict use_variable
begin
    delete from {schema}.keys k where k.queue = queue and k.task = task and k.key = key and k.job_id = holder;
end
$$;

-- Newcomers whose key a debounced job holds replace it and put it off; `known` is what each is called.
-- False where a holder was claimed meanwhile: then its key is free.
create function {schema}.put_off(items {schema}.jobs[], known uuid[], moment timestamptz) returns boolean
language plpgsql as $$
declare
    newcomer record;
    holder {schema}.jobs;
    next_state text;
    next_lane text;
begin
    for newcomer in
        select k.id as holder, i.args, i.owner, i.options, i.priority, i.due_at, i.lane
        from unnest(items) with ordinality i
        join unnest(known) with ordinality as k(id, nth) on k.nth = i.ordinality and k.id <> i.id
        join {schema}.jobs j on j.id = k.id and j.span = 'debounce'
        order by i.ordinality
    loop
        select * into holder from {schema}.jobs j where j.id = newcomer.holder for update;
        if not found or not exists (
            select from {schema}.keys k
            where k.queue = holder.queue and k.task = holder.task and k.key = holder.key and k.job_id = holder.id
        ) then
            return false;
        end if;
        next_state := case when holder.state = 'blocked' then 'blocked'
                           when newcomer.due_at > moment then 'delayed' else 'waiting' end;
        next_lane := case when strpos(newcomer.lane, '?') > 0 then holder.lane else newcomer.lane end;
        update {schema}.jobs j
        set lane = next_lane, args = newcomer.args, owner = newcomer.owner, options = newcomer.options, priority = newcomer.priority,
            state = next_state, due_at = newcomer.due_at,
            rank = {schema}.rank_of(newcomer.due_at, newcomer.priority),
            expires_at = j.expires_at + (newcomer.due_at - j.due_at)
        where j.id = holder.id;
        if (next_state, next_lane) <> (holder.state, holder.lane) then
            insert into {schema}.counts (queue, lane, state, n)
            select holder.queue, case c.state when 'waiting' then nullif(c.lane, holder.queue) end, c.state, c.n
            from (values (holder.state, holder.lane, -1), (next_state, next_lane, 1)) as c(state, lane, n);
        end if;
        if next_state = 'waiting' then
            if strpos(next_lane, '>') > 0 then
                insert into {schema}.lane_news (queue, lane) values (holder.queue, next_lane);
            end if;
            perform {schema}.wake(holder.queue);
        end if;
    end loop;
    return true;
end
$$;
