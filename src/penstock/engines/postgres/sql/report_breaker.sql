select {schema}.report_breaker(
    %(breaker)s, array[%(permit)s::text], array[%(healthy)s::boolean], coalesce(%(now)s::timestamptz, now()))
