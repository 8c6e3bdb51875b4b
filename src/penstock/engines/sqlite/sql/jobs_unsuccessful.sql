select * from penstock_finished where state <> 'completed' and /* conditions */ order by id desc limit :limit
