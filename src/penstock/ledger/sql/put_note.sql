-- Anything may be there (no version expected), or nothing that is not past its time (0).
insert into {notes} as n (kind, key, body, version, at, expires_at)
values (:kind, :key, :body, 1, :now, :expires_at)
on conflict (kind, key) do update
set body = excluded.body, at = excluded.at, expires_at = excluded.expires_at,
    version = case when n.expires_at is null or n.expires_at > :now then n.version + 1 else 1 end
where cast(:expect as bigint) is null or n.expires_at <= :now
returning version
