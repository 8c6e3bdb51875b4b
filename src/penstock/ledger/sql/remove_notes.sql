delete from {notes} where kind = :kind and key in (select e.key from {rows(key text)})
returning expires_at
