select e.task, e.key, e.name, exists (select 1 from penstock_jobs as j where j.id = e.job_id)
  or exists (select 1 from penstock_dead_letters as d where d.job_id = e.job_id and d.recovered_as is null) as needed
from penstock_effects as e where e.expires_at <= ? order by e.expires_at limit ?
