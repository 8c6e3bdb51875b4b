-- Nobody puts in a job behind one of these while it is recovered.
select count({schema}.hold_upstream(u.id, false))
from (select u.id from unnest(%(dead_ids)b::text[]::uuid[]) as u(id) order by u.id) u
