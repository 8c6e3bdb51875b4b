update penstock_outbox set dispatched_at = coalesce(%(now)s::timestamptz, statement_timestamp()), error = null
where seq = any (%(seqs)s::bigint[]) and dispatched_at is null
