-- Which database this is: one that was migrated by itself has another name, whatever it is called.
do $do$
begin
    execute format(
        'create function {schema}.identity() returns text language sql stable as %L',
        format('select %L || oid from pg_catalog.pg_database where datname = current_database()', gen_random_uuid() || '/'));
end
$do$;

-- `given`, where this is the database that was meant; null: nobody knows which was.
create function {schema}.at_home(given text, meant text) returns text
language plpgsql stable as $$
begin
    if meant <> {schema}.identity() then
        raise exception using errcode = 'PSTCK', message = 'this is another database than that of the jobs';
    end if;
    return given;
end
$$;
