update penstock_jobs set state = 'waiting', due_at = ?, rank = ? where id = ?
