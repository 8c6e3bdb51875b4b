select * from penstock_jobs indexed by penstock_jobs_delayed
where state = 'delayed' and /* conditions */
order by id desc limit :limit
