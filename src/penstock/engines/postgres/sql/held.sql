select id::text, token::text, task, queue, attempt, max_attempts, rescues, cancel_requested, worker
from {schema}.jobs
where worker = any(%(workers)b::text[]) and state = 'active'
order by id limit %(limit)s for update skip locked
