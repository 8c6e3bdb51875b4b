select * from penstock_jobs
where expires_at is not null and state in ('waiting', 'delayed') and expires_at <= ?
order by expires_at limit ?
