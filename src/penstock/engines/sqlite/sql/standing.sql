select count(*) as n from (
  select 1 from penstock_jobs
  where lane = :lane and state = 'waiting' and (rank, id) < (:rank, :id) and (expires_at is null or expires_at > :now)
  limit :most + 1
)
