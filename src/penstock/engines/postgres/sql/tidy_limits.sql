select {schema}.tidy_limits(%(queue)s, %(now)s)
