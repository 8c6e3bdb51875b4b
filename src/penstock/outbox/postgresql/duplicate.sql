update penstock_outbox set duplicate_of = found.holder
from unnest(%(seqs)s::bigint[], %(holders)s::uuid[]) as found(seq, holder)
where penstock_outbox.seq = found.seq
