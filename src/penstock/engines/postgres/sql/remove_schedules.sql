with gone as (delete from {schema}.schedules where id = any(%(ids)b::text[]) returning id),
forgotten as (delete from {schema}.ticks t using gone g where t.schedule = g.id)
select count(*) from gone
