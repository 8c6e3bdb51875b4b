delete from penstock_minutes where (at, queue, task) in (
  select at, queue, task from penstock_minutes where at < ? order by at limit ?
)
