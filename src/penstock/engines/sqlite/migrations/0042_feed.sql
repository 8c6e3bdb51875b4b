-- What happened to jobs, for those who watch: the latest, by number.
create table penstock_feed (
  number integer primary key,
  at integer not null,
  event text not null,
  job_id text not null,
  queue text not null,
  task text not null,
  owner text,
  body text not null
);

-- One row: where the feed began, the last number given, and the last that is not kept any more.
create table penstock_feed_state (
  is_the_one integer primary key check (is_the_one = 1),
  first integer not null,
  last integer not null,
  dropped integer not null
);
