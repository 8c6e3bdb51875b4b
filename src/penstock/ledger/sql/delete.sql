-- A row whose period is not over stays as long: it has the key.
delete from {jobs} where finished_at is not null and id in (select e.id from {rows(id uuid)})
    and not (key_held and key_kind = 'period' and key_until > :now)
