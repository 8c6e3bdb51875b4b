select {columns} from {jobs} j
where j.finished_at is null and j.bull_job_id is not null and j.id > cast(:after as {uuid})
order by j.id limit :limit
