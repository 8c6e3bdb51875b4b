-- The columns come in the order of a LaneRow's fields.
select value, l.grp, l.queue, coalesce(l.waiting, 0), coalesce(l.active, 0),
  (
    select rank from penstock_jobs
    where lane = value and state = 'waiting' and (expires_at is null or expires_at > :now)
    order by rank, id limit 1
  ),
  coalesce(l.spent_until, 0), coalesce(l.cooled_until, 0), coalesce(l.owed_until, 0), l.kind, l.turn_key, l.changes_at
from json_each(:lanes) left join penstock_limited_lanes as l on l.lane = value
