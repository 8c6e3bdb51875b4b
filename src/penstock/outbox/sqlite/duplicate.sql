update penstock_outbox set duplicate_of = :holder where seq = :seq
