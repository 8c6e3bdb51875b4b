select id, state, duplicate from {schema}.enqueue(%(jobs)s::json, %(again)s::boolean, %(now)s::timestamptz)
