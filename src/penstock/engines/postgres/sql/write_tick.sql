with moved as (
    update {schema}.schedules set next_at = %(next_at)s::timestamptz, last_due = %(due)s::timestamptz,
        last_job = coalesce(%(made)s::uuid, last_job)
    where id = %(schedule)s
),
worn as (
    delete from {schema}.ticks t where t.schedule = %(schedule)s and t.due <= (
        select o.due from {schema}.ticks o where o.schedule = %(schedule)s
        order by o.due desc offset %(kept)s - 1 limit 1)
)
insert into {schema}.ticks (schedule, due, fired_at, job_id, note)
values (%(schedule)s, %(due)s::timestamptz, %(fired_at)s::timestamptz, %(job_id)s::uuid, %(note)s)
on conflict (schedule, due) do update set fired_at = excluded.fired_at, job_id = excluded.job_id, note = excluded.note
