select {columns} from {jobs} j
where j.finished_at is null and j.bull_job_id is not null and j.id > cast(:after as {uuid})
    and (j.held_until is null or j.held_until <= :now)
order by j.id limit :limit
