select j.queue, j.lane, e.keep, count(*) as jobs
from temp.ends as e cross join penstock_jobs as j on j.id = e.id
group by 1, 2, 3
