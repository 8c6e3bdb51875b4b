-- Who expects a version changes a note that is there; who expects none, or anything, may make it. Each waits for whoever
-- is at the same note, and judges what that one has left.
with m as (
    select coalesce(%(now)s::timestamptz, now()) as now, %(expect)s::bigint as expect
),
changed as (
    update {schema}.notes n
    set body = %(body)s, version = n.version + 1, at = m.now, expires_at = m.now + %(ttl)s::float8 * interval '1 s'
    from m
    where n.kind = %(kind)s and n.key = %(key)s and m.expect > 0 and n.version = m.expect and {_live_note}
    returning n.version
),
put as (
    insert into {schema}.notes as n ({_note_columns})
    select %(kind)s, %(key)s, %(body)s, 1, m.now, m.now + %(ttl)s::float8 * interval '1 s' from m
    where m.expect is null or m.expect = 0
    on conflict (kind, key) do update
    set body = excluded.body, version = case when {_live_note} then n.version + 1 else 1 end,
        at = excluded.at, expires_at = excluded.expires_at
    where %(expect)s::bigint is null or not {_live_note}
    returning n.version
)
select version from changed union all select version from put
