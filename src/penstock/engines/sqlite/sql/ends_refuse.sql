-- What is left are the ends that are their holders' to write.
delete from temp.ends where not exists (
  select 1 from penstock_jobs as j where j.id = ends.id and j.token = ends.token and j.state = 'active'
)
