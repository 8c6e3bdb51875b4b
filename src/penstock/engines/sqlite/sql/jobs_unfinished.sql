select * from penstock_jobs where /* conditions */ order by id desc limit :limit
