-- The ids of those who are first in a lane, as the list that `claim` takes.
select json_group_array(id) from (
  select id from penstock_jobs
  where lane = ? and state = 'waiting' and (expires_at is null or expires_at > ?)
  order by rank, id limit ?
)
