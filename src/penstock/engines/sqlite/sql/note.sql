select kind, key, body, version, at, expires_at from penstock_notes
where kind = :kind and key = :key and (expires_at is null or expires_at > :now)
