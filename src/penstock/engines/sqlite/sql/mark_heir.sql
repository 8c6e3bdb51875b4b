update penstock_jobs set traits = traits | ?, flow = ? where id = ?
