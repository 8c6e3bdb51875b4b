create or replace function {function}() returns trigger language plpgsql as $$
begin
    perform pg_notify('penstock_table', tg_table_name);
    return null;
end $$;
drop trigger if exists {trigger} on {table};
create trigger {trigger} after insert or update of {status} on {table}
    for each row when (new.{status} = {queued}) execute function {function}()
