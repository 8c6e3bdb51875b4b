update penstock_outbox set dispatched_at = :now, error = null
where seq in (select value from json_each(:seqs)) and dispatched_at is null
