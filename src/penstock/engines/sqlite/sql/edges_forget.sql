delete from penstock_edges where job_id = ?
