select kind, key, body, version, at, expires_at from penstock_notes
where kind = :kind and key < :after and (expires_at is null or expires_at > :now)
order by key desc limit :limit
