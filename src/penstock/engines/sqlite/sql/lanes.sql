select * from penstock_limited_lanes
where grp = :group and lane > :after and (waiting or active or spent_until > :now or cooled_until > :now)
order by lane limit :limit
