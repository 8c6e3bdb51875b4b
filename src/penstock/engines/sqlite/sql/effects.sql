select task, key, name, job_id, first_at, expires_at from penstock_effects where /* conditions */ order by task, key, name limit :limit
