-- What workers have counted, by the minute and since ever; measures are JSON.
create table penstock_minutes (
  at integer not null,
  queue text not null,
  task text not null,
  measures text not null,
  primary key (at, queue, task)
) without rowid;

create table penstock_totals (
  queue text not null,
  task text not null,
  measures text not null,
  primary key (queue, task)
) without rowid;
