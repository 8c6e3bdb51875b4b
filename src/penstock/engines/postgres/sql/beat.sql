-- Expiry is final: a worker past its time is not brought back, even before anyone has rescued its jobs.
with moment as (select coalesce(%(now)s::timestamptz, now()) as now),
beaten as (
    update {schema}.workers w
    set expires_at = moment.now + %(ttl)s * interval '1 s', memory = coalesce(%(memory)s::bigint, w.memory)
    from moment where w.id = %(worker)s and w.expires_at > moment.now
    returning w.id, w.ordered
)
select exists (select from beaten),
    array(select j.id::text || ' ' || j.token::text from {schema}.jobs j
          where j.worker = %(worker)s and j.cancel_requested and j.state = 'active'),
    array(select q.name from {schema}.queues q where q.paused),
    exists (select from {schema}.notes n where n.kind = 'listener' and n.key = 'feed' and {_live_note}),
    (select b.ordered from beaten b)
