select name, value from {schema}.steps where job_id = %(id)s::uuid order by place
