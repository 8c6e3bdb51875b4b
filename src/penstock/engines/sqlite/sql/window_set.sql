update penstock_jobs set traits = traits | ?, key_window = ? where id = ?
