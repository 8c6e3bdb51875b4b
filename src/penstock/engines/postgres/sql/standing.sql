select (
    select count(*) from (
        select from {schema}.jobs o
        where o.lane = j.lane and o.state = 'waiting' and (o.rank, o.id) < (j.rank, j.id)
            and (o.expires_at is null or o.expires_at > coalesce(%(now)s::timestamptz, now()))
        limit %(most)s + 1
    ) a
)
from {schema}.jobs j where j.id = %(id)s::uuid and j.state = 'waiting'
