select job_id, job_queue, job_task, job_owner, job_state, missed
from {schema}.expire(%(limit)s, %(expired)s, %(upstream_late)s, %(upstream_missing)s, %(now)s)
