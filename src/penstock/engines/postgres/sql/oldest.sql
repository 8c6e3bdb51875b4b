-- By the first of each lane; the open one has no name. Names are put in order byte by byte, and once: there may be tens of
-- thousands.
with counted as (
    select queue, lane, row_number() over (partition by queue order by lane) as place
    from (
        select queue collate "C" as queue, coalesce(lane, '') collate "C" as lane, n
        from {schema}.counts where state = 'waiting'
    ) c
    where strpos(lane, '?') = 0
    group by queue, lane having sum(n) > 0
)
select l.queue, min(j.due_at)
from counted l
cross join lateral (
    select due_at from {schema}.jobs j
    where j.lane = (case l.lane when '' then l.queue else l.lane end) collate "default" and j.state = 'waiting'
        and (j.expires_at is null or j.expires_at > coalesce(%(now)s::timestamptz, now()))
    order by j.rank, j.id limit 1
) j
where l.place <= %(lanes)s + 1
group by l.queue
