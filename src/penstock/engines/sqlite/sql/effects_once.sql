insert into penstock_effects as e (task, key, name, job_id, first_at, expires_at)
values (:task, :key, :name, :job_id, :now, :until)
on conflict (task, key, name) do update
set job_id = excluded.job_id, first_at = excluded.first_at, expires_at = excluded.expires_at
where e.expires_at <= :now
  and not exists (select 1 from penstock_jobs as j where j.id = e.job_id)
  and not exists (select 1 from penstock_dead_letters as d where d.job_id = e.job_id and d.recovered_as is null)
