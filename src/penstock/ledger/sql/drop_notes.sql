delete from {notes} where (kind, key) in (
    select n.kind, n.key from {notes} n where n.expires_at <= :now order by n.expires_at limit :limit
)
