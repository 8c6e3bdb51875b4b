delete from {notes} where kind = :kind and key in (
    select n.key from {notes} n where n.kind = :kind and n.at < :before order by n.at limit :limit
)
