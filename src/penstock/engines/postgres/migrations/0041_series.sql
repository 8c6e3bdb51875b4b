-- What workers have counted, by the minute, by the quarter of an hour of whole queues, and since ever.
create table {schema}.minutes (
    at timestamptz not null,
    queue text collate "C" not null,
    task text collate "C" not null,
    measures jsonb not null,
    primary key (at, queue, task)
) with (fillfactor = 70, autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 2000);
create table {schema}.quarters (
    at timestamptz not null,
    queue text collate "C" not null,
    measures jsonb not null,
    primary key (at, queue)
) with (fillfactor = 50, autovacuum_vacuum_scale_factor = 0.05, autovacuum_vacuum_threshold = 1000);
create table {schema}.totals (
    queue text collate "C" not null,
    task text collate "C" not null,
    measures jsonb not null,
    primary key (queue, task)
) with (fillfactor = 50, autovacuum_vacuum_scale_factor = 0.05, autovacuum_vacuum_threshold = 1000);

-- Two sets of measures as one: what both have is added up.
create function {schema}.added(one jsonb, other jsonb) returns jsonb
language sql immutable as $$
    select jsonb_object_agg(key, total) from (
        select key, sum(value::double precision) as total
        from (select * from jsonb_each_text(one) union all select * from jsonb_each_text(other)) m
        group by key
    ) s
$$;
