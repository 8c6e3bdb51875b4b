insert into {schedules} (id, spec, source, next_at, paused)
select e.id, e.spec, e.source, e.next_at, e.paused
from {rows(id text, spec text, source text, next_at timestamptz, paused boolean)}
where true
on conflict (id) do update
set spec = excluded.spec, source = excluded.source, next_at = excluded.next_at, paused = excluded.paused
