update penstock_lanes set jobs = jobs + ? where lane = ?
