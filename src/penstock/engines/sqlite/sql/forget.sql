delete from penstock_history where id in (
  select id from (select id from penstock_history where finished_at < :before order by finished_at limit :limit)
  union
  select id from (select id from penstock_history order by finished_at desc limit :limit offset :keep)
  limit :limit
)
