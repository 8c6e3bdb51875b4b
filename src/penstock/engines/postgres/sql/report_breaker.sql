select case when {schema}.report_breaker(
    %(breaker)s, array[%(permit)s::text], array[%(healthy)s::boolean], coalesce(%(now)s::timestamptz, now()))
    then {schema}.wake_behind(%(breaker)s) end
