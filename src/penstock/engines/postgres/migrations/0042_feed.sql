-- What happened to jobs, for those who watch: the latest, by number.
create table {schema}.feed (
    number bigint primary key,
    at timestamptz not null,
    event text not null,
    job_id text not null,
    queue text not null,
    task text not null,
    owner text,
    body text not null
) with (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 5000);

-- One row: where the feed began, the last number given, and the last that is not kept any more. Who publishes holds it
-- until the commit: so numbers grow in the order in which others can see them.
create table {schema}.feed_state (
    is_the_one boolean primary key check (is_the_one),
    first bigint not null,
    last bigint not null,
    dropped bigint not null
) with (fillfactor = 10, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 1000);
