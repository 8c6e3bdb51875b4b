-- A claim whose answer was lost may still be running, or not have begun. The row lock waits for the first kind,
-- the void request refuses the second.
with held as (select id from {schema}.workers where id = %(worker)s for update)
update {schema}.workers w set void_requests = (array_append(w.void_requests, %(request)s))[
    greatest(cardinality(w.void_requests) - 18, 1):]
from held where w.id = held.id
