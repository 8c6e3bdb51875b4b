select * from penstock_jobs indexed by penstock_jobs_held
where state = 'active' and /* conditions */
order by id desc limit :limit
