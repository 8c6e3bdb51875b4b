-- Of the ends that are their holders' to write.
select j.queue, j.lane, e.keep = 1 or j.flow is not null as kept, count(*) as jobs, max(j.traits) as traits
from temp.penstock_ends as e cross join penstock_jobs as j on j.id = e.id
where j.token = e.token and j.state = 'active'
group by 1, 2, 3
