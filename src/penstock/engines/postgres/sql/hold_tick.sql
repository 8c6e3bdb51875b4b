-- Whoever comes second waits here, and finds that the tick is not the next any more.
select s.last_job::text, (select j.state from {schema}.jobs j where j.id = s.last_job),
    coalesce(%(now)s::timestamptz, now())
from {schema}.schedules s
where s.id = %(schedule)s and not s.paused and s.next_at = %(due)s::timestamptz
for update of s
