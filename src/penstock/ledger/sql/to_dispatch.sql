select {columns} from {jobs} j
where j.bull_job_id is null and j.finished_at is null and j.created_at <= :before
order by j.created_at limit :limit
