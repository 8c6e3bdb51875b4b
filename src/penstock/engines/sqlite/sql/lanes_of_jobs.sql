select id from penstock_jobs where id in (select value from json_each(?)) and state = 'active'
