select {_job_columns}, null::timestamptz as finished_at, null as result, null as recovered_as
from {schema}.jobs where id = %(id)s::uuid
union all
select {_job_columns}, finished_at, result, recovered_as::text
from {schema}.finished where id = %(id)s::uuid
