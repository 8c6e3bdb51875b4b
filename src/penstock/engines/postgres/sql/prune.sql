-- Beyond the bound or past the age; a bound that is null keeps all. A clean-up with a name has one taker.
-- Beyond the bound the newest go first: from the old end, every round would step over all that was removed
-- since the oldest snapshot in the database.
with turn as (
    insert into {schema}.cleanups as c (queue, run)
    select %(queue)s, %(run)s::text where %(run)s::text is not null
    on conflict (queue) do update set run = excluded.run where c.run < excluded.run
    returning c.run
),
beyond as (
    (select id from {schema}.finished
     where coalesce(shelf, queue) = %(queue)s and not pinned
        and (state = 'completed') and %(keep_completed)s::bigint is not null
     order by finished_at desc, id desc offset coalesce(%(keep_completed)s::bigint, 0) limit %(limit)s)
    union
    (select id from {schema}.finished
     where coalesce(shelf, queue) = %(queue)s and not pinned
        and not (state = 'completed') and %(keep_failed)s::bigint is not null
     order by finished_at desc, id desc offset coalesce(%(keep_failed)s::bigint, 0) limit %(limit)s)
    union
    (select f.id from {schema}.finished f
     where coalesce(f.shelf, f.queue) = %(queue)s and not f.pinned and (f.state = 'completed')
        and f.finished_at < coalesce(%(now)s::timestamptz, now()) - %(max_age)s::double precision * interval '1 s'
     order by f.finished_at, f.id limit %(limit)s)
    union
    (select f.id from {schema}.finished f
     where coalesce(f.shelf, f.queue) = %(queue)s and not f.pinned and not (f.state = 'completed')
        and f.finished_at < coalesce(%(now)s::timestamptz, now()) - %(max_age)s::double precision * interval '1 s'
     order by f.finished_at, f.id limit %(limit)s)
),
doomed as (
    select f.ctid as place from {schema}.finished f
    where f.id = any(array(select id from beyond)) and not f.pinned
        and (%(run)s::text is null or exists (select from turn))
    order by f.id limit %(limit)s for update skip locked
),
{_removing}
select count(*) from gone
