-- By the first of each lane.
with counted as (
    select queue, lane, row_number() over (partition by queue order by lane collate "C") as place
    from {schema}.counts where state = 'waiting' and lane is not null and strpos(lane, '?') = 0
    group by queue, lane having sum(n) > 0
),
lanes as (
    select queue, lane from counted where place <= %(lanes)s
    union all
    select distinct queue, queue from {schema}.counts
)
select l.queue, min(j.due_at)
from lanes l
cross join lateral (
    select due_at from {schema}.jobs j
    where j.lane = l.lane and j.state = 'waiting'
        and (j.expires_at is null or j.expires_at > coalesce(%(now)s::timestamptz, now()))
    order by j.rank, j.id limit 1
) j
group by l.queue
