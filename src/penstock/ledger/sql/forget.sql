delete from {jobs} where id in (
    select f.id from (select id from {jobs} where finished_at < :before
                      order by finished_at limit :limit) f
    union
    select f.id from (select id, finished_at from {jobs} where finished_at is not null
                      order by finished_at desc limit :limit offset :keep) f
    where f.finished_at < :safe)
    and not (key_held and key_kind = 'period' and key_until > :now)
