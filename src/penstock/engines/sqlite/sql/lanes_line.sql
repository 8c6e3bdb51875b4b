select * from penstock_limited_lanes where grp = ? and kind = ? order by turn_key limit ?
