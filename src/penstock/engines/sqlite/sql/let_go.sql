update penstock_jobs set state = ?, due_at = ?, rank = ?, expires_at = expires_at + ? where id = ?
