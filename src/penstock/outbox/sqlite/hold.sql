update penstock_outbox set next_try_at = :until
where seq in (select value from json_each(:seqs)) and dispatched_at is null
