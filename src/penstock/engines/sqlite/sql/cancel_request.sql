update penstock_jobs set cancel_requested = 1, note = ? where id = ?
