select w.id, w.name, w.queues, w.slots, w.started_at,
    case when isfinite(w.expires_at) then w.expires_at end,
    (select count(*) from {schema}.jobs j where j.worker = w.id and j.state = 'active'),
    w.expires_at > coalesce(%(now)s::timestamptz, now()), w.ordered, w.memory
from {schema}.workers w order by w.started_at, w.id
