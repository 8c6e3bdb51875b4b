select {_job_columns}, finished_at, result, recovered_as::text, null::text[] as blocked_by
    from {schema}.finished
