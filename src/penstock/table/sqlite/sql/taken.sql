-- The rows just claimed, in order; {{ids}} are as many marks as there are rows.
select {table}.{id}, {table}.{token}, {table}.{attempts}, {made}, {table}.*
from {table}
where {table}.{id} in ({{ids}})
order by {table}.{order_by}, {table}.{id}
