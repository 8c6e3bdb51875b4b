delete from penstock_limited_lanes
where waiting = 0 and active = 0 and max(spent_until, cooled_until, owed_until) <= ?
