update penstock_limited_lanes set cooled_until = max(cooled_until, ?) where lane = ?
