update penstock_jobs set progress = ? where id = ? and token = ? and state = 'active'
