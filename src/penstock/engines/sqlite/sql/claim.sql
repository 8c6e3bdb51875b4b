update penstock_jobs
set state = 'active',
    token = hex(randomblob(16)),
    worker = :worker,
    request = :request,
    claimed_at = :now,
    started_at = coalesce(started_at, :now),
    attempt = attempt + 1
where id in (select value from json_each(:ids))
