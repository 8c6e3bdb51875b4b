delete from penstock_jobs where id in (select id from temp.penstock_ends)
