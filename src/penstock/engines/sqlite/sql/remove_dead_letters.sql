delete from penstock_dead_letters where job_id in (select value from json_each(?))
returning queue, recovered_at
