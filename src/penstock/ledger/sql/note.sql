select n.kind, n.key, n.body, n.version, n.at, n.expires_at from {notes} n
where n.kind = :kind and n.key = :key and (n.expires_at is null or n.expires_at > :now)
