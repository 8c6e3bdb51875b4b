select task, key, name, job_id::text, first_at, expires_at
from {schema}.effects where {where} order by effects.task, effects.key, effects.name limit %(limit)s
