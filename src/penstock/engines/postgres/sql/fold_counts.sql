-- The zero of an open lane stays: it says that the queue was used.
with taken as (
    delete from {schema}.counts
    where ctid = any(array(select ctid from {schema}.counts limit 20000 for update skip locked))
    returning queue, lane, state, n
)
insert into {schema}.counts (queue, lane, state, n)
select queue, lane, state, sum(n) from taken group by 1, 2, 3 having sum(n) <> 0 or lane is null
