delete from {schema}.workers w
where w.id = any(%(workers)b::text[])
    and not exists (select from {schema}.jobs j where j.worker = w.id and j.state = 'active')
