delete from {jobs} where finished_at is not null and id in (select e.id from {rows(id uuid)})
