select c.queue, coalesce(q.paused, false), c.state, c.n
from (
    select queue, state, sum(n)::bigint as n from {schema}.counts where state <> 'dead' group by 1, 2
    union all
    select name, null, 0 from {schema}.queues
) c
left join {schema}.queues q on q.name = c.queue
order by c.queue collate "C"
