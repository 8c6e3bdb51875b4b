select * from penstock_limited_lanes
where grp = ? and kind is null and changes_at is not null
order by changes_at limit 1
