-- What a person has told a worker to do, and how many bytes its process had at its last heartbeat.
alter table {schema}.workers
    add column ordered text,
    add column memory bigint;
