select {schema}.cancel(%(ids)b::text[], %(reason)s, %(now)s)
