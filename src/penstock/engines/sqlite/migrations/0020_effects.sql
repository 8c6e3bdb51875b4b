-- Effects that have been made: one record of each task, key and name, written in the transaction that makes it.
create table penstock_effects (
  task text not null,
  key text not null,
  name text not null,
  job_id text not null,
  first_at integer not null,
  expires_at integer not null,
  primary key (task, key, name)
) without rowid;

create index penstock_effects_key on penstock_effects (key, task, name);
create index penstock_effects_name on penstock_effects (name, task, key);
create index penstock_effects_expire on penstock_effects (expires_at);
