delete from penstock_flow_jobs where job_id = ?
