-- Beyond what its queue keeps, a record holds its key no more: the oldest first, a bounded step.
update {jobs} set key_held = false where id in (
    select j.id from {jobs} j
    where j.key_held and j.key_kind = 'record' and j.shelf = :shelf and j.finished_at is not null
        and (j.status = 'completed') = :completed
        and j.finished_at < (select max(cut.at) from (
            select cast(:before as {instant}) as at
            union all
            select k.finished_at from (
                select n.finished_at from {jobs} n
                where n.shelf = :shelf and n.finished_at is not null and (n.status = 'completed') = :completed
                order by n.finished_at desc limit :counted offset :newer) k) cut)
    order by j.finished_at limit :limit)
