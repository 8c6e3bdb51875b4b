select {columns} from {jobs} j
where j.bull_job_id is null and j.finished_at is null and j.created_at <= :before
    and (j.held_until is null or j.held_until <= :now)
order by j.created_at limit :limit
