select queue, lane, count(*) from penstock_jobs where id in (select value from json_each(?)) group by 1, 2
