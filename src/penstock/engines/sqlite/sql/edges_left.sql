select 1 from penstock_edges indexed by penstock_edges_open where job_id = ? and is_open limit 1
