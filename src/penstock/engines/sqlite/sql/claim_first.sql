-- The ranks and the ids of those who are first in a lane: two lists, of which `claim` takes the second as it is.
select json_group_array(rank), json_group_array(id) from (
  select rank, id from penstock_jobs
  where lane = ? and state = 'waiting' and (expires_at is null or expires_at > ?)
  order by rank, id limit ?
)
