with doomed as (
    select d.ctid as place from {schema}.dead_letters d
    where d.job_id = any(%(ids)b::text[]::uuid[]) order by d.job_id for update
),
gone as (
    delete from {schema}.dead_letters d where d.ctid = any(array(select place from doomed))
    returning d.queue, d.recovered_as
),
counted as (
    insert into {schema}.counts (queue, lane, state, n)
    select queue, null, 'dead', -count(*) from gone where recovered_as is null group by 1
)
select count(*) from gone
