-- Of a queue's own group the jobs are counted elsewhere.
delete from penstock_groups
where (declared is null or declared = :bare or declared_at <= :passed)
  and waiting = 0 and active = 0 and max(spent_until, cooled_until) <= :now
  and not exists (select 1 from penstock_limited_lanes as l where l.grp = penstock_groups.name)
  and not exists (
    select 1 from penstock_counts as c
    where declared is not null and c.queue = penstock_groups.name and c.state in ('waiting', 'active') and c.n > 0
  )
