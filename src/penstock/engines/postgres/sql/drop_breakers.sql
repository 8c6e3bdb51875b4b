delete from {schema}.breakers b
where b.declared_at <= coalesce(%(now)s::timestamptz, now()) - interval '7 days'
    and not exists (select from {schema}.groups g where b.name = any(g.needs))
