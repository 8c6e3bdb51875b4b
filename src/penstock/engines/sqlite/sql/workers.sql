select *, (select count(*) from penstock_jobs where worker = w.id and state = 'active') as active
from penstock_workers as w
order by started_at, id
