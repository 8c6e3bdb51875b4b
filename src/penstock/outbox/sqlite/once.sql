insert into penstock_effects as e (app, task, key, name, job_id, first_at, expires_at) values ($1, $2, $3, $4, $5, $6, $7)
on conflict (app, task, key, name) do update
set job_id = excluded.job_id, first_at = excluded.first_at, expires_at = excluded.expires_at
where e.expires_at <= $6
returning 1
