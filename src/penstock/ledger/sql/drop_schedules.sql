delete from {schedules} where id in (select e.id from {rows(id text)})
