with stored as (
    insert into {schema}.queues (name, paused) values (%(queue)s, %(paused)s)
    on conflict (name) do update set paused = excluded.paused
    returning name, paused
)
select count({schema}.wake(name)) from stored where not paused
