select id from penstock_jobs
where deadline_at is not null and state = 'blocked' and deadline_at <= ?
order by deadline_at limit ?
