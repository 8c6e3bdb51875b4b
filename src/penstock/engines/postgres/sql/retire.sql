delete from {schema}.workers where id = %(worker)s
