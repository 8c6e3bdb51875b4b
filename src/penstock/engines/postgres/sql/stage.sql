-- Delayed jobs that are due become waiting. Answers whether there are more, and the seconds to the next.
-- One more than the limit is looked at, to know.
with moment as (select coalesce(%(now)s::timestamptz, now()) as now),
due as (
    select ctid as place from {schema}.jobs
    where state = 'delayed' and due_at <= coalesce(%(now)s::timestamptz, now())
    order by due_at limit %(limit)s::bigint + 1 for update skip locked
),
ready as (
    update {schema}.jobs j set state = 'waiting' where j.ctid = any(array(select place from due limit %(limit)s))
    returning queue, lane
),
{_telling_ready}
select (select count(*) from due) > %(limit)s,
    (select extract(epoch from min(j.due_at) - moment.now)::double precision
     from {schema}.jobs j where j.state = 'delayed' and j.due_at > moment.now),
    woken.n
from moment, woken
