insert into penstock_flow_jobs (flow, place, job_id)
values (?1, coalesce((select max(place) + 1 from penstock_flow_jobs where flow = ?1), 0), ?2)
