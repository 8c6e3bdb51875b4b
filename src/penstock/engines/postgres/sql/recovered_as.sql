select job_id::text, recovered_as::text from {schema}.dead_letters
where job_id = any(%(dead_ids)b::text[]::uuid[])
