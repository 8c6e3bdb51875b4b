select id, token from penstock_jobs where worker = ? and state = 'active' and cancel_requested
