delete from penstock_effects where (app, task, key, name) in (
    select app, task, key, name from penstock_effects
    where expires_at < coalesce(%(now)s::timestamptz, statement_timestamp())
    order by expires_at limit %(limit)s
    for update skip locked
)
