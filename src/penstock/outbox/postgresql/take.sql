-- Rows without an order key that are due and in no other relay's hand, as many as the bytes allow.
with taken as (
    select seq, octet_length(jobs) as size
    from penstock_outbox
    where destination = %(destination)s and dispatched_at is null and order_key is null and next_try_at <= coalesce(%(now)s::timestamptz, statement_timestamp())
    order by next_try_at, seq
    limit %(limit)s
    for update skip locked
),
sized as (
    select seq, sum(size) over (order by seq) as bytes, row_number() over (order by seq) as place
    from taken
)
select o.seq, o.order_key, o.jobs, extract(epoch from coalesce(%(now)s::timestamptz, statement_timestamp()) - o.created_at)::float8, o.tries
from sized join penstock_outbox o using (seq)
where sized.bytes <= %(bytes)s or sized.place = 1
order by o.seq
