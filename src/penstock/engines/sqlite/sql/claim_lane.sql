select rank, id from penstock_jobs where lane = ? and state = 'waiting' order by rank, id limit ?
