-- How many rows there are, counted no further than to a bound.
select count(*) from (select 1 from {table} limit %(most)s) as counted
