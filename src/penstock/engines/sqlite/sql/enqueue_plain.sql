-- Jobs without key and owner, packed: an id of 36 letters, then the payload. One step, however many: the interpreter
-- goes on meanwhile.
insert into penstock_jobs (
  queue, task, lane, state, rank, priority, max_attempts, created_at, due_at, expires_at, options, id, key, args
)
select ?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, substr(value, 1, 36), substr(value, 1, 36), substr(value, 37)
from json_each(?12)
