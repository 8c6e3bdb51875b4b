insert into {schema}.migrations (name) values (%(name)s)
