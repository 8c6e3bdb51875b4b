select {schema}.enqueue_plain(
    %(id)s, %(args)s, %(queue)s, %(task)s, %(priority)s, %(max_attempts)s, %(now)s)
