select count(*) from (select 1 from {jobs} j where j.owner = :owner and j.finished_at is null limit :most) a
