-- In one look: what is told of the feed is true of these events.
select s.first, s.last, s.dropped, f.number, f.at, f.event, f.job_id, f.queue, f.task, f.owner, f.body
from {schema}.feed_state s
left join lateral (
    select * from {schema}.feed
    where number > greatest(%(after)s::bigint, s.dropped) order by number limit %(limit)s
) f on true
order by f.number
