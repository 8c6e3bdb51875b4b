select * from penstock_finished where /* conditions */ order by id desc limit :limit
