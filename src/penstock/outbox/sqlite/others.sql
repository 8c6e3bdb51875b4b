-- Whose rows wait besides, and since when the oldest have.
select destination, count(*), min(created_at)
from (
    select * from (
        select destination, created_at from penstock_outbox
        where dispatched_at is null and destination < :destination limit :most
    ) before
    union all
    select * from (
        select destination, created_at from penstock_outbox
        where dispatched_at is null and destination > :destination limit :most
    ) behind
)
group by destination
order by 3
limit :limit
