select id, queue, lane from penstock_jobs where id in (select value from json_each(?))
