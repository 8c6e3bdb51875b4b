insert into penstock_steps (job_id, name, value)
select ?, name, value from penstock_steps where job_id = ? order by place
