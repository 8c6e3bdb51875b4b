-- What a worker says and hears in one call: what completed leaves the hot table where id, token and state match,
-- and the next are claimed. A function, so that the server keeps its plans, behind a pooler too.
-- `keep` has a letter for each end: t, its record is kept; h, it goes to the history at once; f, neither.
-- One row per claim, at least one; the last columns say whether the worker lives, and which ends were refused.
create function {schema}.settle(
    ids text, tokens text, results text[], notes text[], ran_for text, keep text,
    claimer text, claim_request text, queues text[], most integer[], most_of_all integer,
    tasks text[], fingerprints text[], free integer, healths text, at timestamptz default null
) returns table (
    id text, token text, queue text, task text, lane text, args text, key text, attempt integer,
    max_attempts integer, priority smallint, owner text, options text, suspect boolean, crashes integer,
    created_at timestamptz, due_at timestamptz, probe boolean, is_alive boolean, refused text[],
    next_in double precision
) language plpgsql as $$
#variable_conflict use_column
declare
    moment constant timestamptz := coalesce(at, now());
    alive boolean := false;
    answered boolean := false;
    missed text[];
    special {schema}.completed_job[];
    freed_queues text[];
    claims record;
begin
    -- Held shared until the end, so that a rescue sees either all of this claim or none. First of all, as a
    -- rescue takes it first: the other way round they would wait for each other.
    if claimer <> '' then
        perform from {schema}.workers w
        where w.id = claimer and w.expires_at > moment and not claim_request = any(w.void_requests)
        for key share of w;
        alive := found;
    end if;

    if ids <> '' then
        with ends as (
            select * from unnest(
                string_to_array(ids, ' ')::uuid[], string_to_array(tokens, ' ')::uuid[], results, notes,
                string_to_array(ran_for, ' ')::double precision[], string_to_array(keep, null)
            ) as e(id, token, result, note, ran_for, keep)
        ),
        gone as (
            -- By the primary key: written so that the partial index of held jobs, full of dead entries, is no
            -- option.
            delete from {schema}.jobs j using ends e
            where j.id = e.id and j.token = e.token and j.state || '' = 'active'
            returning j.*, e.result, e.note as last_note, e.ran_for as last_run,
                e.keep = 't' or j.flow is not null as keep, e.keep = 'h' as remember
        ),
        kept as (
            insert into {schema}.finished (
                id, queue, task, lane, state, args, key, is_unique, priority, attempt, max_attempts, created_at,
                due_at, expires_at, started_at, claimed_at, finished_at, owner, options, worker, token, progress,
                result, note, errors, ran_for, suspect, crashes, rescues, cancel_requested, recovered_from, after,
                deadline_at, flow, flow_place, shelf, origin, stepped, pinned)
            select
                g.id, g.queue, g.task, g.lane, 'completed', g.args, g.key, g.is_unique, g.priority, g.attempt,
                g.max_attempts, g.created_at, g.due_at, g.expires_at, g.started_at, g.claimed_at, moment, g.owner,
                g.options, g.worker, g.token, g.progress, g.result, g.last_note, g.errors, g.ran_for + g.last_run,
                g.suspect, g.crashes, g.rescues, g.cancel_requested, g.recovered_from, g.after, g.deadline_at, g.flow,
                g.flow_place, g.shelf, g.origin, g.stepped, g.flow is not null
            from gone g where g.keep
        ),
        remembered as (
            {_remember}
            select g.id, g.queue, g.task, 'completed', g.args, g.result, null, g.attempt, g.max_attempts, g.key,
                g.owner, g.created_at, g.started_at, moment
            from gone g where g.remember and not g.keep
            {_remember_anew}
        ),
        freed as (
            delete from {schema}.keys k using gone g
            where not g.keep and g.is_unique and g.span is null
                and k.queue = g.queue and k.task = g.task and k.key = g.key and k.job_id = g.id
        ),
        counted as (
            insert into {schema}.counts (queue, lane, state, n)
            select g.queue, null, 'active', -count(*) from gone g group by 1
            union all
            select g.queue, null, 'completed', count(*) from gone g where g.keep group by 1
        )
        select case when count(*) < (select count(*) from ends)
                    then array(select e.id::text || ' ' || e.token::text from ends e
                               where (e.id, e.token) not in (select g.id, g.token from gone g)) end,
            array_agg((g.id, g.queue, g.task, g.key, g.lane, g.flow, g.feeds, g.tied, g.stepped, g.limited, g.span,
                g.keep)::{schema}.completed_job)
                filter (where g.tied or g.limited or g.stepped or g.span is not null)
        into missed, special from gone g;
        if special is not null then
            perform {schema}.completed(special, ids, healths, moment);
            freed_queues := array(select distinct s.queue from unnest(special) s where s.limited);
        end if;
    end if;

    if alive and (exists (select from {schema}.groups g where g.queue = any(queues))
                  or exists (select from {schema}.lane_news n where n.queue = any(queues)))
        and cardinality({schema}.limited_queues(queues, moment)) > 0
    then
        claims := {schema}.claim_limited(
            claimer, claim_request, queues, most, most_of_all, free, tasks, fingerprints, at);
        return query
        select c.id::text, c.token::text, c.queue, c.task, c.lane, c.args, coalesce(c.key, c.id::text), c.attempt,
            c.max_attempts::integer, c.priority::smallint, c.owner, c.options, c.suspect, c.crashes,
            c.created_at::timestamptz, c.due_at::timestamptz,
            exists (select from {schema}.breakers b where b.circuit = 'half-open' and b.probing ? c.id::text),
            true, missed, claims.next_in
        from unnest(claims.claimed) with ordinality c order by c.ordinality;
        -- Of what became free they have had what they may, unless they asked for less.
        freed_queues := array(
            select f.queue from unnest(freed_queues) as f(queue) where claims.more or f.queue <> all(queues));
        next_in := claims.next_in;
        answered := cardinality(claims.claimed) > 0;
    elsif alive then
        return query
        with wanted as (
            select a.queue, a.most from unnest(queues, most) as a(queue, most)
            where not exists (select from {schema}.queues q where q.name = a.queue and q.paused)
        ),
        open_lanes as (
            select w.queue as lane, w.queue, w.most from wanted w
            union all
            select l.lane, l.queue, w.most
            from {schema}.lanes l
            join wanted w on w.queue = l.queue
            join unnest(tasks, fingerprints) as t(task, fingerprint)
                on t.task = l.task and t.fingerprint <> all (string_to_array(coalesce(l.misfit, ''), ','))
        ),
        locked as (
            select o.queue, o.most, j.place, j.rank, j.id
            from open_lanes o, lateral (
                select c.ctid as place, c.rank, c.id from {schema}.jobs c
                where c.lane = o.lane and c.state = 'waiting'
                    and (c.expires_at is null or c.expires_at > moment)
                order by c.rank, c.id
                limit least(o.most, most_of_all)
                for update skip locked
            ) j
        ),
        chosen as (
            select n.place from (
                select l.place, l.rank, l.id, l.most,
                    row_number() over (partition by l.queue order by l.rank, l.id) as nth
                from locked l
            ) n
            where n.nth <= n.most
            order by n.rank, n.id
            limit most_of_all
        ),
        claimed as (
            update {schema}.jobs j
            -- By the clock: what others did before this saw it must not seem to have been later.
            set state = 'active', token = gen_random_uuid(), worker = claimer, request = claim_request,
                claimed_at = coalesce(at, clock_timestamp()),
                started_at = coalesce(j.started_at, at, clock_timestamp()), attempt = j.attempt + 1
            where j.ctid = any(array(select place from chosen))
            returning j.id, j.token, j.queue, j.task, j.lane, j.args, j.key, j.attempt, j.max_attempts, j.priority,
                j.owner, j.options, j.suspect, j.crashes, j.created_at, j.due_at, j.rank, j.span
        ),
        given_up as (
            select count({schema}.give_key_up(c.queue, c.task, c.key, c.id)) as n
            from claimed c where c.span in ('started', 'debounce')
        ),
        counted as (
            insert into {schema}.counts (queue, lane, state, n)
            select c.queue, nullif(c.lane, c.queue), 'waiting', -count(*) from claimed c group by 1, 2
            union all
            select c.queue, null, 'active', count(*) from claimed c group by 1
        )
        select c.id::text, c.token::text, c.queue, c.task, c.lane, c.args, coalesce(c.key, c.id::text), c.attempt,
            c.max_attempts::integer, c.priority::smallint, c.owner, c.options, c.suspect, c.crashes,
            c.created_at::timestamptz, c.due_at::timestamptz,
            false, true, missed, null::double precision
        from claimed c, given_up
        order by c.rank, c.id;
        answered := found;
    end if;
    if freed_queues is not null then
        perform {schema}.wake(f.queue) from unnest(freed_queues) as f(queue) where {schema}.somebody_waits(f.queue);
    end if;
    if not answered then
        is_alive := alive;
        refused := missed;
        return next;
    end if;
end
$$;
