-- A worker seen to be dead is given up for good, even if its time has not passed.
update {schema}.workers set expires_at = '-infinity' where id = %(worker)s
