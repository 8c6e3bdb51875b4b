-- Whose rows wait besides, and for how long the oldest have.
select destination, count(*), extract(epoch from coalesce(%(now)s::timestamptz, statement_timestamp()) - min(created_at))::float8
from (
    select * from (
        select destination, created_at from penstock_outbox
        where dispatched_at is null and destination < %(destination)s limit %(most)s
    ) before
    union all
    select * from (
        select destination, created_at from penstock_outbox
        where dispatched_at is null and destination > %(destination)s limit %(most)s
    ) behind
) waiting
group by destination
order by 3 desc
limit %(limit)s
