-- What workers have counted, by the minute, by the quarter of an hour of whole queues, and since ever; measures are JSON.
create table penstock_minutes (
  at integer not null,
  queue text not null,
  task text not null,
  measures text not null,
  primary key (at, queue, task)
) without rowid;

create table penstock_quarters (
  at integer not null,
  queue text not null,
  measures text not null,
  primary key (at, queue)
) without rowid;

create table penstock_totals (
  queue text not null,
  task text not null,
  measures text not null,
  primary key (queue, task)
) without rowid;
