delete from penstock_notes where (kind, key) in (
  select kind, key from penstock_notes where expires_at <= ? order by expires_at limit ?
)
