select count(*), coalesce(sum(case when bull_job_id is null then 1 else 0 end), 0) from {jobs} where finished_at is null
