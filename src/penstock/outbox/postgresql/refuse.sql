update penstock_outbox
set tries = tries + 1, error = refused.error, next_try_at = coalesce(%(now)s::timestamptz, statement_timestamp()) + refused.retry_in * interval '1 s'
from unnest(%(seqs)s::bigint[], %(errors)s::text[], %(waits)s::float8[]) as refused(seq, error, retry_in)
where penstock_outbox.seq = refused.seq and dispatched_at is null
