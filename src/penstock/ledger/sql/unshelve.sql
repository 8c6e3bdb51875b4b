-- Their schedule is gone: they count with those of their queue.
update {jobs} set shelf = queue_name
where finished_at is not null and shelf in (select e.shelf from {rows(shelf text)})
