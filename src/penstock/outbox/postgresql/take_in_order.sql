-- Of each order key the first rows that are not dispatched. The very first is held for all of them: whoever
-- cannot have it, because another relay has it or it is not due, gets none.
with firsts as (
    select first.seq
    from unnest(%(keys)s::text[]) as keys(order_key) cross join lateral (
        select o.seq from penstock_outbox o
        where o.destination = %(destination)s and o.order_key = keys.order_key and o.dispatched_at is null
        order by o.seq limit 1
    ) first
),
held as (
    select o.seq, o.order_key from penstock_outbox o
    where o.seq = any (array(select seq from firsts))
        and o.dispatched_at is null and o.next_try_at <= coalesce(%(now)s::timestamptz, statement_timestamp())
    for update skip locked
),
runs as (
    select run.seq, run.size
    from held cross join lateral (
        select o.seq, octet_length(o.jobs) as size from penstock_outbox o
        where o.destination = %(destination)s and o.order_key = held.order_key and o.dispatched_at is null and o.seq >= held.seq
        order by o.seq limit %(run)s
    ) run
),
sized as (
    select seq, sum(size) over (order by seq) as bytes, row_number() over (order by seq) as place
    from runs
)
select o.seq, o.order_key, o.jobs, extract(epoch from coalesce(%(now)s::timestamptz, statement_timestamp()) - o.created_at)::float8, o.tries
from sized join penstock_outbox o using (seq)
where (sized.bytes <= %(bytes)s or sized.place = 1) and sized.place <= %(limit)s
order by o.seq
