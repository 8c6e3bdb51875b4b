select {_job_columns}, null::timestamptz as finished_at, null as result, null as recovered_as,
    case when state = 'blocked' then array(
        select e.upstream::text from {schema}.edges e where e.job_id = jobs.id
        order by array_position(jobs.after, e.upstream)) end as blocked_by
    from {schema}.jobs
