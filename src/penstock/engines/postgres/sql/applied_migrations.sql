select name from {schema}.migrations
