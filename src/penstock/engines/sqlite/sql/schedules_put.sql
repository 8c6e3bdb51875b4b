-- A tick that was due stays due; one that is paused has none.
insert into penstock_schedules (id, spec, source, next_at, paused) values (:id, :spec, :source, :next_at, :paused)
on conflict (id) do update
set spec = excluded.spec,
    source = excluded.source,
    next_at = case when spec = excluded.spec or next_at <= :now or paused then next_at else excluded.next_at end
where spec <> excluded.spec or source is not excluded.source
