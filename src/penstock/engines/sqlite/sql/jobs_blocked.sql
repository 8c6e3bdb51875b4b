select * from penstock_jobs indexed by penstock_jobs_blocked
where state = 'blocked' and /* conditions */
order by id desc limit :limit
