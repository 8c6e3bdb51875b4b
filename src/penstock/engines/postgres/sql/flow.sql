select id, name, created_at, unfinished from {schema}.flows where id = %(flow)s
