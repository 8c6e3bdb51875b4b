-- What is left are the ends that are their holders' to write.
delete from temp.penstock_ends where not exists (
  select 1 from penstock_jobs as j where j.id = penstock_ends.id and j.token = penstock_ends.token and j.state = 'active'
)
