-- Beyond what its queue keeps, a record holds its key no more.
update {jobs} set key_held = false
where key_held and key_kind = 'record' and shelf = :shelf and finished_at is not null
    and (status = 'completed') = :completed
    and (finished_at < :before or finished_at < (
        select min(kept.finished_at) from (
            select k.finished_at from {jobs} k
            where k.shelf = :shelf and k.finished_at is not null and (k.status = 'completed') = :completed
            order by k.finished_at desc limit :keep) kept) or :keep = 0)
