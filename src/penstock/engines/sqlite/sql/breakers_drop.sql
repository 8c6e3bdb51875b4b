delete from penstock_breakers
where declared_at <= ? and not exists (
  select 1 from penstock_groups as g, json_each(g.declared, '$[2]') as need where need.value = penstock_breakers.name
)
