-- Shared by `delete` and `prune`: a key goes with its record, unless another job holds it by now.
gone as (
    delete from {schema}.finished f where f.ctid = any(array(select place from doomed))
    returning f.id, f.queue, f.task, f.key, f.is_unique, f.state
),
freed as (
    delete from {schema}.keys k using gone g
    where g.is_unique and k.queue = g.queue and k.task = g.task and k.key = g.key and k.job_id = g.id
),
counted as (
    insert into {schema}.counts (queue, lane, state, n)
    select queue, null, state, -count(*) from gone group by 1, 3
)
select count(*) from gone
