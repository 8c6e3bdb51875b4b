select
    (select count(*) from (select from penstock_outbox where destination = %(destination)s and dispatched_at is null limit %(most)s) waiting),
    (
        select extract(epoch from coalesce(%(now)s::timestamptz, statement_timestamp()) - created_at)::float8
        from penstock_outbox where destination = %(destination)s and dispatched_at is null order by created_at limit 1
    ),
    (
        select count(*)
        from (select from penstock_outbox where destination = %(destination)s and dispatched_at is null and tries > 0 limit %(most)s) refused
    )
