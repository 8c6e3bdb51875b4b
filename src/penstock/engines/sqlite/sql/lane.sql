select * from penstock_limited_lanes where lane = ?
