select {schema}.expire(%(limit)s, %(late)s, %(too_long)s, %(now)s)
