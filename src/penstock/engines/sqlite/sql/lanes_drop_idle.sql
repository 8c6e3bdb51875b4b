delete from penstock_limited_lanes
where waiting = 0 and active = 0 and max(spent_until, cooled_until) <= :now and owed_until <= :now + coalesce(
  (select ahead from penstock_turns as t where t.queue = penstock_limited_lanes.queue), 0
)
