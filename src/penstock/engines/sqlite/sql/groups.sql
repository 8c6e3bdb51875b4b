select g.*, a.n as queue_active, w.n as queue_waiting
from penstock_groups as g
left join penstock_counts as a on a.queue = g.name and a.state = 'active'
left join penstock_counts as w on w.queue = g.name and w.state = 'waiting'
