update penstock_limited_lanes set spent_until = ?, owed_until = ? where lane = ?
