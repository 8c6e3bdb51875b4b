update penstock_jobs set state = 'waiting'
where id in (
  select id from penstock_jobs where state = 'delayed' and due_at <= :now order by due_at limit :limit
)
returning queue, lane
