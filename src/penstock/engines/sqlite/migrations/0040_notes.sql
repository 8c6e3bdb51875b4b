-- Small documents that are kept with the jobs.
create table penstock_notes (
  kind text not null,
  key text not null,
  body text not null,
  version integer not null,
  at integer not null,
  expires_at integer,
  primary key (kind, key)
) without rowid;

create index penstock_notes_written on penstock_notes (kind, at);
create index penstock_notes_over on penstock_notes (expires_at) where expires_at is not null;
