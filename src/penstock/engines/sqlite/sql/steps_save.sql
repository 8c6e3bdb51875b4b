insert into penstock_steps (job_id, name, value) values (?, ?, ?)
on conflict (job_id, name) do update set value = excluded.value
