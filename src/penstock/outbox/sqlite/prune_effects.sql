delete from penstock_effects where (task, key, name) in (
    select task, key, name from penstock_effects where expires_at < :now order by expires_at limit :limit
)
