update {jobs} set failure = null
where status = 'failed' and failure is not null and id in (select e.id from {rows(id uuid)})
