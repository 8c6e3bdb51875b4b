select * from penstock_limited_lanes where grp = ? and kind > 0 and owed_until <= ? order by owed_until limit ?
