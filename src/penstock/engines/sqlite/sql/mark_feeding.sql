update penstock_jobs set traits = traits | 1 where id in (select value from json_each(?))
