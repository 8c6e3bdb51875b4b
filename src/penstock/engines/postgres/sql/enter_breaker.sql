select allowed, retry_in from {schema}.enter_breaker(%(breaker)s, %(permit)s, %(now)s::timestamptz)
