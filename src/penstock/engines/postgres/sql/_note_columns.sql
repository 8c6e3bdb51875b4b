kind, key, body, version, at, expires_at
