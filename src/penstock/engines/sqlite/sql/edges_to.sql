select job_id, place, after_id, on_failure from penstock_edges where after_id = ? and is_open order by job_id, place
