insert into penstock_edges (job_id, place, after_id, on_failure, is_open)
select ?, place, after_id, on_failure, 0 from penstock_edges where job_id = ?
