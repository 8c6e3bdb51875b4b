select l.lane, l.queue, l.task, l.reason, sum(c.n)::bigint
from {schema}.lanes l join {schema}.counts c on c.lane = l.lane and c.state = 'waiting'
group by l.lane having sum(c.n) > 0 order by l.lane
