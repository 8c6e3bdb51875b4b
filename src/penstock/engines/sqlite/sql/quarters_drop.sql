delete from penstock_quarters where (at, queue) in (
  select at, queue from penstock_quarters where at < ? order by at limit ?
)
