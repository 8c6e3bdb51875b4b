-- What may be needed yet is looked at again a day later, so that it is not in the way of the others.
with moment as (select coalesce(%(now)s::timestamptz, now()) as now),
passed as (
    select e.ctid as place, e.job_id from {schema}.effects e
    where e.expires_at <= (select now from moment)
    order by e.expires_at limit %(limit)s for update skip locked
),
needed as materialized (select p.place, {schema}.may_run_again(p.job_id) as yet from passed p),
kept as (
    update {schema}.effects e set expires_at = moment.now + interval '1 day' from moment
    where e.ctid = any(array(select place from needed where yet))
),
gone as (
    delete from {schema}.effects e where e.ctid = any(array(select place from needed where not yet))
)
select count(*) from needed
