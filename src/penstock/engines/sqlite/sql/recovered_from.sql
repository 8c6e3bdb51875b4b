update penstock_jobs set recovered_from = ? where id = ?
