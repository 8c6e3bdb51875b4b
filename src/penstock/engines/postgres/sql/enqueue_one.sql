select %(id)s::text, {schema}.enqueue_one(
    %(id)s::uuid, %(queue)s, %(task)s, %(lane)s, %(args)s, %(key)s, %(priority)s::smallint, %(max_attempts)s::integer,
    %(delay)s::double precision, %(expire_after)s::double precision, %(owner)s, %(options)s, %(now)s::timestamptz), false
