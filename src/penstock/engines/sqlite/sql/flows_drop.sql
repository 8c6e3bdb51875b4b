delete from penstock_flows
where id = ?1 and unfinished = 0 and not exists (select 1 from penstock_flow_jobs where flow = ?1)
