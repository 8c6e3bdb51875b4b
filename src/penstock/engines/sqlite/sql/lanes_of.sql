select * from penstock_limited_lanes where grp = ?
