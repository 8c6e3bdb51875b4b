delete from penstock_notes where kind = :kind and key in (
  select key from penstock_notes where kind = :kind and at < :before order by at limit :limit
)
