select json_group_array(json_array(rank, id)) from (
  select rank, id from penstock_jobs
  where lane = ? and state = 'waiting' and (expires_at is null or expires_at > ?)
  order by rank, id limit ? offset ?
)
