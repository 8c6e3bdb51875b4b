update {jobs} set shelf = queue_name
where finished_at is null and shelf in (select e.shelf from {rows(shelf text)})
