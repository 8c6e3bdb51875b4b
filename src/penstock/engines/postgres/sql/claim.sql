-- Take the waiting jobs first in rank. One row per job; at least one row, which says whether the worker lives.
with {_claiming},
counted as (
    insert into {schema}.counts (queue, lane, state, n)
    select queue, nullif(lane, queue), 'waiting', -count(*) from claimed group by 1, 2
    union all
    select queue, null, 'active', count(*) from claimed group by 1
)
select c.id::text, c.token::text, c.queue, c.task, c.lane, c.args, coalesce(c.key, c.id::text), c.attempt,
    c.max_attempts, c.priority, c.owner, c.options, c.suspect, c.crashes, c.created_at, c.due_at,
    exists (select from alive)
from (values (1)) as answer left join claimed c on true
order by c.rank, c.id
