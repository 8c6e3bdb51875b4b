select {schema}.expire(%(limit)s, %(expired)s, %(upstream_late)s, %(upstream_missing)s, %(now)s)
