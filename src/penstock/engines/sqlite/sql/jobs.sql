select * from (select * from penstock_jobs where /* conditions */ order by id desc limit :limit)
union all
select * from (select * from penstock_finished where /* conditions */ order by id desc limit :limit)
order by id desc limit :limit
