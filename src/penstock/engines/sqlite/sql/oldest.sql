select min(due_at) as due_at from (
  select (
    select due_at from penstock_jobs as j
    where j.lane = l.lane and j.state = 'waiting' and (j.expires_at is null or j.expires_at > :now)
    order by j.rank, j.id limit 1
  ) as due_at
  from (
    select :queue as lane
    union all
    select lane from (
      select lane from penstock_limited_lanes
      where grp in (select name from penstock_groups where queue = :queue) and waiting > 0
      order by grp, lane limit :lanes
    )
  ) as l
)
