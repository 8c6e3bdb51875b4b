delete from penstock_effects where (app, task, key, name) in (
    select app, task, key, name from penstock_effects where expires_at < :now order by expires_at limit :limit
)
