select name, value from penstock_steps where job_id = ? order by place
