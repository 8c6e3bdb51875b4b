(n.expires_at is null or n.expires_at > coalesce(%(now)s::timestamptz, now()))
