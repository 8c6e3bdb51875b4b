update penstock_finished set traits = traits & ~64
where id in (select job_id from penstock_flow_jobs where flow = ?) and traits & 64
returning queue, state, shelf
