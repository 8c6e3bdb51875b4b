select coalesce(%(now)s::timestamptz, clock_timestamp())
