select count(*) from (select from {schema}.jobs where owner = %(owner)s limit %(most)s) a
