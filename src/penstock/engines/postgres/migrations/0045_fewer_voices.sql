-- Two of our own transactions at a time send the hint, not four: each waits until the one before it is written to
-- disk. Who was silent and is seen too late is found by those who listen: they look once more a moment later.
create or replace function {schema}.wake(queue text) returns void
language plpgsql as $$
begin
    if current_setting('penstock.brief', true) is distinct from 'on' then
        perform pg_notify('penstock_{schema}', queue);
        return;
    end if;
    for slot in 1..2 loop
        if pg_try_advisory_xact_lock(hashtextextended('{schema}/' || queue, slot)) then
            perform pg_notify('penstock_{schema}', queue);
            return;
        end if;
    end loop;
end
$$;
