-- Which ends are the holder's to write. The cross join fixes the order: each end looks its job up by id.
select e.id, e.token, e.keep, j.queue, j.task, j.lane, j.key, j.is_unique
from temp.ends as e cross join penstock_jobs as j on j.id = e.id
where j.token = e.token and j.state = 'active'
