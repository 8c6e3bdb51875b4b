-- Tie jobs that were just put in. `made` are those of the `given` that were not there before, `known` is what each of
-- them is called. `ties` of a job is an object:
--     after         array     of [id, on_failure, has_come], where on_failure is "fail", "continue", "ignore" or "wait";
--                             has_come, false where it is left out, says that where no record is left, it has ended
--     feeds         boolean   false; true where others may name it that are not put in together with it
--     flow          array     [id, name]
--     deadline      number    seconds that it may stay blocked
--     at_deadline   text      "skip", "run" or "fail"
--     shelf         text      with whose finished jobs it is pruned
--     origin        text      what made it, for people
create function {schema}.tie(
    jobs json, given uuid[], made uuid[], known uuid[], moment timestamptz) returns void
language plpgsql as $$
declare
    upstream_ids uuid[];
    come_ids uuid[];
begin
    perform {schema}.join_flows(jobs, made, moment);
    with wanted as materialized (
        -- One of the same call whose key was taken stands for the holder, which has come.
        select distinct on (t.job_id, up.id) t.job_id, up.id as upstream, e.value ->> 1 as on_failure, e.nth,
            coalesce((e.value ->> 2)::boolean, false) or o.known <> o.given as come
        from rows from (json_array_elements(jobs), unnest(given)) as t(job, job_id)
        join unnest(made) as m(id) on m.id = t.job_id
        cross join json_array_elements(t.job -> 'ties' -> 'after') with ordinality as e(value, nth)
        left join unnest(given, known) as o(given, known) on o.given = (e.value ->> 0)::uuid
        cross join lateral (select coalesce(o.known, (e.value ->> 0)::uuid) as id) up
        order by t.job_id, up.id, e.nth
    ),
    put as (
        insert into {schema}.edges (job_id, upstream, on_failure)
        select job_id, upstream, on_failure from wanted on conflict do nothing
    ),
    named as (
        update {schema}.jobs j set after = w.upstream
        from (select job_id, array_agg(upstream order by nth) as upstream from wanted group by 1) w
        where j.id = w.job_id
    )
    select array_agg(distinct upstream), array_agg(distinct upstream) filter (where come)
    into upstream_ids, come_ids from wanted;
    if upstream_ids is null then
        return;
    end if;

    perform {schema}.mark_upstream(upstream_ids, made);
    perform {schema}.follow_heirs(made);
    perform {schema}.ended(array(
        select (f.id, f.state, null, false)::{schema}.ended_job from {schema}.finished f
        where f.id in (select e.upstream from {schema}.edges e where e.job_id = any(made))
        union all
        select (c.id, 'completed', null, false)::{schema}.ended_job from unnest(come_ids) as c(id)
        where not exists (select from {schema}.jobs j where j.id = c.id)
            and not exists (select from {schema}.finished f where f.id = c.id)
            and not exists (select from {schema}.dead_letters d where d.job_id = c.id)
    ), moment);
end
$$;

-- The end of these is told to others. What others may be ending just now is held, so that either they see who waits
-- for it, or we see that it has ended.
create function {schema}.mark_upstream(ids uuid[], made uuid[]) returns void
language plpgsql as $$
declare
    others constant uuid[] := array(select unnest(ids) except select unnest(made) order by 1);
begin
    perform {schema}.hold_upstream(o.id, true) from unnest(others) as o(id);
    perform from {schema}.jobs j where j.id = any(others) order by j.id for key share;
    update {schema}.jobs j set tied = true where j.id = any(ids) and not j.tied;
end
$$;

-- Where a job that failed was recovered before anybody waited for it, they wait for the one it was recovered as.
create function {schema}.follow_heirs(made uuid[]) returns void
language plpgsql as $$
declare
    found_heir record;
    heirs uuid[];
begin
    loop
        heirs := '{}';
        for found_heir in
            update {schema}.edges e set upstream = f.recovered_as from {schema}.finished f
            where e.job_id = any(made) and e.on_failure = 'wait' and f.id = e.upstream and f.recovered_as is not null
            returning e.job_id, f.id as failed, f.recovered_as as heir
        loop
            update {schema}.jobs j set after = array_replace(j.after, found_heir.failed, found_heir.heir)
            where j.id = found_heir.job_id;
            heirs := heirs || found_heir.heir;
        end loop;
        exit when cardinality(heirs) = 0;
        perform {schema}.mark_upstream(heirs, made);
    end loop;
end
$$;

create function {schema}.join_flows(jobs json, made uuid[], moment timestamptz) returns void
language plpgsql as $$
declare
    revived text[];
begin
    with joined as (
        insert into {schema}.flows as f (id, name, created_at, unfinished)
        select j.flow, min(n.name), moment, count(*)
        from {schema}.jobs j join (
            select t.job -> 'ties' -> 'flow' ->> 0 as id, min(t.job -> 'ties' -> 'flow' ->> 1) as name
            from json_array_elements(jobs) as t(job) group by 1
        ) n on n.id = j.flow
        where j.id = any(made)
        group by j.flow order by j.flow
        on conflict (id) do update set unfinished = greatest(f.unfinished, 0) + excluded.unfinished
        returning f.id, f.unfinished
    )
    select array_agg(id) into revived from joined;
    if revived is not null then
        update {schema}.finished f set pinned = true where f.flow = any(revived) and not f.pinned;
    end if;
end
$$;
