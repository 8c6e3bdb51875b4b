insert into {schema}.schedules as s (id, spec, source, next_at, paused)
select g.id, g.spec, g.source, case when not g.paused then g.next_at end, g.paused
from unnest(%(ids)b::text[], %(specs)b::text[], %(sources)b::text[], %(next_at)b::text[]::timestamptz[],
    %(paused)b::boolean[]) as g(id, spec, source, next_at, paused)
order by g.id collate "C"
on conflict (id) do update set spec = excluded.spec, source = excluded.source,
    -- A tick that is due already is still to be fired.
    next_at = case when s.spec = excluded.spec or s.paused or s.next_at <= coalesce(%(now)s::timestamptz, now())
                   then s.next_at else excluded.next_at end
where s.spec <> excluded.spec or s.source is distinct from excluded.source
