update penstock_jobs set cancel_requested = 1, note = case when cancel_requested then note else ? end
where id = ?
