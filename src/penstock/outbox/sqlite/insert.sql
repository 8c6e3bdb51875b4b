insert into penstock_outbox (id, destination, jobs, order_key, created_at, next_try_at)
select json_extract(value, '$.id'), $3, json_extract(value, '$.jobs'), json_extract(value, '$.order_key'), $2, $2
from json_each($1)
where true
on conflict (id) do nothing
