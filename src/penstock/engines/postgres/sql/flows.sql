select id, name, created_at, unfinished from {schema}.flows
where %(after)s::text is null or id < %(after)s::text order by id desc limit %(limit)s
