select job_id, after_id, is_open from penstock_edges where job_id in (select value from json_each(?))
order by job_id, place
