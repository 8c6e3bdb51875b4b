-- What was left by enqueues and by runs that ended, of every queue.
select {schema}.hold_limits(q.queues), {schema}.fold_lane_news(q.queues, coalesce(%(now)s::timestamptz, now()))
from (select array(select distinct queue from {schema}.lane_news) as queues) q
