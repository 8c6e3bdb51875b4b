select * from penstock_dead_letters where /* conditions */ order by job_id desc limit :limit
