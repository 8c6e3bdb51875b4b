with added as (
    insert into penstock_outbox (id, destination, jobs, order_key, created_at, next_try_at)
    select row.id, $3::text, row.jobs, row.order_key, at.now, at.now
    from
        json_to_recordset($1::text::json) as row(id uuid, jobs text, order_key text),
        (select coalesce($2::text::timestamptz, clock_timestamp()) as now) at
    on conflict (id) do nothing
    returning id
)
-- A hint for relays. NOTIFY serialises commits, so few at a time send it; several may, so that one long
-- transaction does not keep the others silent.
select count(pg_notify('penstock_outbox', 'penstock_outbox'))
from (select count(*) from added) done
where case
    when pg_try_advisory_xact_lock(hashtextextended('penstock_outbox', 1)) then true
    else pg_try_advisory_xact_lock(hashtextextended('penstock_outbox', 2))
end
