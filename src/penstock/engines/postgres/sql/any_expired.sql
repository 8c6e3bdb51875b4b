select true from {schema}.workers where expires_at <= coalesce(%(now)s::timestamptz, now()) limit 1
