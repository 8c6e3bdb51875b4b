-- Every way a run can end, other than the fast one: completed, failed, cancelled, or to run again.
-- A job whose cancel was asked for does not run again, and keeps the reason as its note. Answers those accepted.
create function {schema}.end_runs(
    ids text, tokens text, states text[], delays double precision[], refunds boolean[], keep_places boolean[],
    results text[], notes text[], errors text[], suspects boolean[], crashes boolean[], rescues boolean[],
    reasons text[], ran_for text, keep text, park_lanes text[], park_tasks text[], park_misfits text[],
    park_reasons text[], lanes text[], cooldowns double precision[], healths boolean[],
    by_holder boolean, at timestamptz default null
) returns table (id text, token text, queue text, task text, state text)
language plpgsql as $$
#variable_conflict use_column
declare
    moment constant timestamptz := coalesce(at, now());
    over record;
    tied {schema}.ended_job[] := '{}';
    runs {schema}.ended_run[] := '{}';
begin
    for over in
        with ends as (
            select * from unnest(
                string_to_array(ids, ' ')::uuid[], string_to_array(tokens, ' ')::uuid[], states, delays, refunds,
                keep_places, results, notes, errors, suspects, crashes, rescues, reasons,
                string_to_array(ran_for, ' ')::double precision[], string_to_array(keep, null)::boolean[],
                park_lanes, park_tasks, park_misfits, park_reasons, lanes, cooldowns, healths
            ) as e(id, token, state, delay, refund, keep_place, result, note, error, suspect, crashed, rescued,
                   reason, ran_for, keep, park_lane, park_task, park_misfit, park_reason, lane,
                   cooldown, healthy)
        ),
        held as materialized (
            select j.id, e.token, e.delay, e.keep_place, e.result, e.reason, e.keep, j.queue,
                j.lane, e.lane as next_lane, e.cooldown, e.healthy, j.limited,
                j.queue || e.park_lane as park, e.park_task, e.park_misfit, e.park_reason,
                case when stop.cancel then 'cancelled' else e.state end as state,
                case when stop.cancel then j.note else e.note end as note,
                greatest(j.attempt - e.refund::integer, 0) as attempt,
                case when e.error is null then j.errors else
                    case when jsonb_array_length(j.errors) >= 20 then j.errors - 0 else coalesce(j.errors, '[]') end
                    || (e.error::jsonb || jsonb_build_object(
                        'at', to_char(moment at time zone 'utc', 'YYYY-MM-DD"T"HH24:MI:SS.US"+00:00"')))
                end as errors,
                j.ran_for + e.ran_for as ran_for, j.suspect or e.suspect as suspect,
                j.crashes + e.crashed::integer as crashes, j.rescues + e.rescued::integer as rescues
            from ends e
            -- By the primary key, as in `settle`.
            join {schema}.jobs j on j.id = e.id and j.token = e.token and j.state || '' = 'active'
            cross join lateral (
                select j.cancel_requested and e.state in ('waiting', 'delayed', 'cancelled') as cancel
            ) stop
            order by j.id
            for update of j
        ),
        again as (
            update {schema}.jobs j
            set state = h.state, attempt = h.attempt, note = h.note, errors = h.errors, ran_for = h.ran_for,
                suspect = h.suspect, crashes = h.crashes, rescues = h.rescues,
                due_at = case when h.keep_place then j.due_at else moment + h.delay * interval '1 s' end,
                rank = case when h.keep_place then j.rank
                            else {schema}.rank_of(moment + h.delay * interval '1 s', j.priority) end,
                -- What has run does not expire.
                expires_at = case when h.keep_place and not h.suspect then j.expires_at end,
                lane = case when h.park is not null then h.park
                            when h.next_lane is not null then h.next_lane
                            when strpos(j.lane, '?') > 0 then j.queue else j.lane end,
                limited = false,
                -- What was handed back from its first run has not started; a snooze was a run, though no attempt.
                started_at = case when h.attempt > 0 or h.errors is not null or not h.keep_place or j.ran_for > 0
                    then j.started_at end,
                worker = null, request = null,
                ended_token = case when by_holder then j.token else j.ended_token end
            from held h
            where j.id = h.id and h.state in ('waiting', 'delayed')
            returning j.id, j.token, j.queue, j.task, j.lane, j.state
        ),
        parked as (
            insert into {schema}.lanes (lane, queue, task, misfit, reason)
            select distinct on (park) park, queue, park_task, park_misfit, park_reason
            from held where park is not null and state = 'waiting' order by park
            -- Written even where it is there already: that locks it against a `tidy` which finds the lane empty.
            on conflict (lane) do update set reason = excluded.reason
        ),
        gone as (
            delete from {schema}.jobs j using held h
            where j.id = h.id and h.state not in ('waiting', 'delayed')
            returning j.id, j.queue, j.task, j.lane, h.state, j.args, j.key, j.is_unique, j.priority, h.attempt,
                j.max_attempts, j.created_at, j.due_at, j.expires_at, j.started_at, j.claimed_at, j.owner, j.options,
                j.worker, j.token, j.ended_token, j.progress, h.result, h.note, h.errors, h.ran_for, h.suspect,
                h.crashes, h.rescues, j.cancel_requested, j.recovered_from, j.after, j.deadline_at, j.flow,
                j.flow_place, j.shelf, j.origin, j.feeds, j.tied,
                j.stepped, j.span, j.span_seconds, h.reason, h.keep or h.state <> 'completed' as keep
        ),
        kept as (
            insert into {schema}.finished (
                {_finished_columns})
            select
                id, queue, task, lane, state, args, key, is_unique, priority, attempt, max_attempts, created_at, due_at,
                expires_at, started_at, claimed_at, moment, owner, options, worker,
                case when by_holder then token else ended_token end, progress, result, note, errors, ran_for,
                suspect, crashes, rescues, cancel_requested, recovered_from, after, deadline_at, flow, flow_place,
                shelf, origin, stepped, flow is not null
            from gone where keep
            on conflict (id) do nothing
        ),
        buried as (
            insert into {schema}.dead_letters (
                job_id, queue, task, args, key, is_unique, priority, max_attempts, owner, options, reason, error,
                attempts, first_started_at, ran_for, failed_at, span, span_seconds)
            select id, queue, task, args, key, is_unique, priority, max_attempts, owner, options,
                coalesce(reason, 'failed'), errors -> -1, attempt, started_at, ran_for, moment, span,
                span_seconds
            from gone where state = 'failed'
            on conflict (job_id) do nothing
        ),
        freed as (
            delete from {schema}.keys k using gone g
            where g.is_unique and g.span in ('unfinished', 'started', 'debounce')
                and k.queue = g.queue and k.task = g.task and k.key = g.key and k.job_id = g.id
        ),
        counted as (
            insert into {schema}.counts (queue, lane, state, n)
            select queue, lane, state, sum(n) from (
                select queue, null as lane, 'active' as state, -count(*) as n from again group by 1
                union all select queue, case state when 'waiting' then nullif(lane, queue) end, state, count(*)
                          from again group by 1, 2, 3
                union all select queue, null, 'active', -count(*) from gone group by 1
                union all select queue, null, state, count(*) from gone where keep group by 1, 3
                union all select queue, null, 'dead', count(*) from gone where state = 'failed' group by 1
            ) changes
            group by 1, 2, 3
        ),
        told as (
            insert into {schema}.lane_news (queue, lane)
            select distinct queue, lane from again where strpos(lane, '>') > 0 and state = 'waiting'
        ),
        cooled as (
            insert into {schema}.lane_news (queue, lane, cooled_until)
            select queue, lane, {schema}.seconds(moment) + cooldown from held where cooldown > 0
        ),
        woken as (
            select count({schema}.wake(queue)) as n from (select distinct queue from again where state = 'waiting') q
        )
        select a.id, a.token, a.queue, a.task, a.state, a.flow, a.feeds, a.tied, h.lane, h.limited, h.healthy, woken.n
        from (
            select id, token, queue, task, state, null as flow, false as feeds, false as tied from again
            union all
            select id, token, queue, task, state, flow, feeds, tied from gone
        ) a join held h on h.id = a.id, woken
    loop
        if over.tied then
            tied := tied || (over.id, over.state, over.flow, over.feeds)::{schema}.ended_job;
        end if;
        if over.limited then
            runs := runs || (over.id, over.queue, over.lane, over.healthy)::{schema}.ended_run;
        end if;
        id := over.id::text;
        token := over.token::text;
        queue := over.queue;
        task := over.task;
        state := over.state;
        return next;
    end loop;
    perform {schema}.ended(tied, moment);
    if cardinality(runs) > 0 then
        perform {schema}.free_places(runs, moment);
        perform {schema}.wake(q.queue) from (select distinct r.queue from unnest(runs) r) q
        where {schema}.somebody_waits(q.queue);
    end if;
end
$$;
