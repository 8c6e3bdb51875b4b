update {notes} set body = :body, version = version + 1, at = :now, expires_at = :expires_at
where kind = :kind and key = :key and version = :expect and (expires_at is null or expires_at > :now)
returning version
