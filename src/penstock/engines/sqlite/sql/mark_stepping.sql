update penstock_jobs set traits = traits | 32 where id = ? and token = ? and state = 'active'
