with doomed as (
    select d.ctid as place from {schema}.dead_letters d
    where d.failed_at < coalesce(%(now)s::timestamptz, now()) - %(older_than)s * interval '1 s'
    order by d.failed_at limit %(limit)s for update skip locked
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
