-- Each side in the order of its primary key, at most a page of each.
select * from (
    (select {_job_columns}, null::timestamptz as finished_at, null as result, null as recovered_as
     from {schema}.jobs where {unfinished_where} order by jobs.id desc limit %(limit)s)
    union all
    (select {_job_columns}, finished_at, result, recovered_as::text
     from {schema}.finished where {finished_where} order by finished.id desc limit %(limit)s)
) page
order by id collate "C" desc limit %(limit)s
