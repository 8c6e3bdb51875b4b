select {schema}.put_groups(%(groups)s::json, %(now)s)
