select 1 from penstock_edges where job_id = ? and is_open limit 1
