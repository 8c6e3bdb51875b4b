-- What a claim took and nobody received: its tokens are worth nothing, and its attempts do not count.
update {jobs} set
    token = null, run_over = true, attempts_made = attempts_made - 1, updated_at = :now,
    status = case when attempts_made <= 1 and error_message is null and started_at >= updated_at
        then 'pending' else status end,
    started_at = case when attempts_made <= 1 and error_message is null and started_at >= updated_at
        then null else started_at end
where worker = :worker and request = :request and not run_over and finished_at is null
