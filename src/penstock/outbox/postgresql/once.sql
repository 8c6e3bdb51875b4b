insert into penstock_effects as e (app, task, key, name, job_id, first_at, expires_at)
select $1::text, $2::text, $3::text, $4::text, $5::text::uuid, now, now + $7::double precision * interval '1 s'
from coalesce($6::text::timestamptz, clock_timestamp()) as now
on conflict (app, task, key, name) do update
set job_id = excluded.job_id, first_at = excluded.first_at, expires_at = excluded.expires_at
where e.expires_at <= excluded.first_at
returning 1
