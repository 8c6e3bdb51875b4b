-- Unfinished jobs. Instants are microseconds since the epoch, UTC.
create table penstock_jobs (
  id text primary key,
  queue text not null,
  task text not null,
  lane text not null,
  state text not null,
  rank integer not null,
  priority integer not null,
  attempt integer not null default 0,
  max_attempts integer not null,
  created_at integer not null,
  due_at integer not null,
  expires_at integer,
  started_at integer,
  claimed_at integer,
  finished_at integer,
  token text,
  worker text,
  request text,
  key text not null,
  is_unique integer not null default 0,
  key_window text, -- null: while its record lives
  owner text,
  cancel_requested integer not null default 0,
  suspect integer not null default 0,
  crashes integer not null default 0,
  rescues integer not null default 0,
  ran_for real not null default 0,
  recovered_from text,
  recovered_as text,
  traits integer not null default 0, -- bits: what few jobs have, and what their end has to look after
  shelf text, -- null: its queue's
  flow text,
  origin text,
  deadline_at integer,
  at_deadline text,
  note text,
  options text,
  args text not null,
  progress text,
  result text,
  errors text,
  -- What another program writes here must be readable, or it would break every list.
  constraint priority_is_1_to_4 check (priority between 1 and 4),
  constraint one_attempt_at_least check (max_attempts >= 1),
  constraint state_is_unfinished check (state in ('waiting', 'delayed', 'blocked', 'active')),
  constraint instants_before_year_9000 check (
    typeof(created_at) = 'integer' and created_at < 221845392000000000
    and typeof(due_at) = 'integer' and due_at < 221845392000000000
    and (expires_at is null or typeof(expires_at) = 'integer' and expires_at < 221845392000000000))
) without rowid;

create index penstock_jobs_claim on penstock_jobs (lane, rank, id) where state = 'waiting';
create index penstock_jobs_due on penstock_jobs (due_at) where state = 'delayed';
create index penstock_jobs_delayed on penstock_jobs (id) where state = 'delayed';
create index penstock_jobs_blocked on penstock_jobs (id) where state = 'blocked';
create index penstock_jobs_deadline on penstock_jobs (deadline_at)
  where deadline_at is not null and state = 'blocked';
create index penstock_jobs_held on penstock_jobs (worker) where state = 'active';
create index penstock_jobs_expiry on penstock_jobs (expires_at)
  where expires_at is not null and state in ('waiting', 'delayed');
create index penstock_jobs_parked on penstock_jobs (id) where state = 'waiting' and instr(lane, '?') > 0;
create index penstock_jobs_queue on penstock_jobs (queue, id);
create index penstock_jobs_task on penstock_jobs (task, id);
create index penstock_jobs_owner on penstock_jobs (owner, id) where owner is not null;
create index penstock_jobs_key on penstock_jobs (key) where key <> id;

-- Finished jobs: the same columns in the same order.
create table penstock_finished (
  id text primary key,
  queue text not null,
  task text not null,
  lane text not null,
  state text not null,
  rank integer not null,
  priority integer not null,
  attempt integer not null default 0,
  max_attempts integer not null,
  created_at integer not null,
  due_at integer not null,
  expires_at integer,
  started_at integer,
  claimed_at integer,
  finished_at integer,
  token text,
  worker text,
  request text,
  key text not null,
  is_unique integer not null default 0,
  key_window text, -- null: while its record lives
  owner text,
  cancel_requested integer not null default 0,
  suspect integer not null default 0,
  crashes integer not null default 0,
  rescues integer not null default 0,
  ran_for real not null default 0,
  recovered_from text,
  recovered_as text,
  traits integer not null default 0, -- bits: what few jobs have, and what their end has to look after
  shelf text, -- null: its queue's
  flow text,
  origin text,
  deadline_at integer,
  at_deadline text,
  note text,
  options text,
  args text not null,
  progress text,
  result text,
  errors text
) without rowid;

create index penstock_finished_end on penstock_finished (coalesce(shelf, queue), state, finished_at)
  where not traits & 64;
create index penstock_finished_state on penstock_finished (state, id) where state <> 'completed';
create index penstock_finished_queue on penstock_finished (queue, id);
create index penstock_finished_task on penstock_finished (task, id);
create index penstock_finished_owner on penstock_finished (owner, id) where owner is not null;
create index penstock_finished_key on penstock_finished (key) where key <> id;

create table penstock_dead_letters (
  job_id text primary key,
  queue text not null,
  task text not null,
  args text not null,
  key text not null,
  is_unique integer not null,
  key_window text,
  priority integer not null,
  max_attempts integer not null,
  owner text,
  options text,
  reason text not null,
  error text,
  attempts integer not null,
  first_started_at integer,
  ran_for real not null,
  failed_at integer not null,
  recovered_at integer,
  recovered_as text
) without rowid;

create index penstock_dead_letters_failed on penstock_dead_letters (failed_at);
create index penstock_dead_letters_open on penstock_dead_letters (job_id) where recovered_at is null;
create index penstock_dead_letters_queue on penstock_dead_letters (queue, job_id);
create index penstock_dead_letters_task on penstock_dead_letters (task, job_id);
create index penstock_dead_letters_owner on penstock_dead_letters (owner, job_id) where owner is not null;

-- What is left of a job when its own record has been pruned: the columns of background_jobs, and its owner.
create table penstock_history (
  id text primary key,
  queue text not null,
  task text not null,
  state text not null,
  args text not null,
  result text,
  error text,
  attempt integer not null,
  max_attempts integer not null,
  key text not null,
  owner text,
  created_at integer not null,
  started_at integer,
  finished_at integer not null
) without rowid;

create index penstock_history_queue on penstock_history (queue, state, id);
create index penstock_history_status on penstock_history (state, id);
create index penstock_history_finished on penstock_history (finished_at);
create index penstock_history_created on penstock_history (created_at);
create index penstock_history_key on penstock_history (key) where key <> id;
create index penstock_history_owner on penstock_history (owner, id) where owner is not null;

-- Finished jobs, each with its latest error, or the note of one that ended without an error: the first line that says
-- something, bounded. What comes after it may tell values.
create view penstock_ended as
select f.*, case when state <> 'completed' then (
    select substr(said, 1, min(500, instr(said || char(10), char(10)) - 1, instr(said || char(13), char(13)) - 1))
    from (select coalesce(f.errors ->> '$[#-1].type' || ': ' || ltrim(f.errors ->> '$[#-1].message', ' ' || char(9) || char(10) || char(13)),
      ltrim(f.note, ' ' || char(9) || char(10) || char(13))) as said)
  ) end as error
from penstock_finished as f;

-- Every job there is a record of, in the words that the outside is told; times as text, in UTC.
create view penstock_background_jobs as
select id, queue as queue_name, task as job_type, id as bull_job_id, status, args as payload_json,
  result as result_json, error as error_message, attempt as attempts_made, max_attempts, key as idempotency_key,
  strftime('%Y-%m-%d %H:%M:%f', created_at / 1e6, 'unixepoch') as created_at,
  strftime('%Y-%m-%d %H:%M:%f', started_at / 1e6, 'unixepoch') as started_at,
  strftime('%Y-%m-%d %H:%M:%f', finished_at / 1e6, 'unixepoch') as finished_at,
  strftime('%Y-%m-%d %H:%M:%f', updated_at / 1e6, 'unixepoch') as updated_at
from (
  select id, queue, task, case when started_at is null then 'pending' else 'processing' end as status, args,
    null as result, (
      select substr(said, 1, min(500, instr(said || char(10), char(10)) - 1, instr(said || char(13), char(13)) - 1))
      from (select errors ->> '$[#-1].type' || ': ' || ltrim(errors ->> '$[#-1].message', ' ' || char(9) || char(10) || char(13)) as said)
    ) as error,
    attempt, max_attempts, key, created_at, started_at, null as finished_at,
    max(created_at, coalesce(claimed_at, 0)) as updated_at
  from penstock_jobs
  union all
  select id, queue, task, state, args, result, error, attempt, max_attempts, key, created_at, started_at,
    finished_at, finished_at
  from penstock_ended
  union all
  select id, queue, task, state, args, result, error, attempt, max_attempts, key, created_at, started_at,
    finished_at, finished_at
  from penstock_history
);

-- Who holds a given key. Minted keys have no row.
create table penstock_keys (
  queue text not null,
  task text not null,
  key text not null,
  job_id text not null,
  until integer, -- of a period
  primary key (queue, task, key)
) without rowid;

create index penstock_keys_until on penstock_keys (until) where until is not null;

-- Who waits for whom. An edge that is not open any more tells what a job once waited for.
create table penstock_edges (
  job_id text not null,
  place integer not null,
  after_id text not null,
  on_failure text not null,
  is_open integer not null default 1,
  primary key (job_id, place)
) without rowid;

create index penstock_edges_to on penstock_edges (after_id) where is_open;
create index penstock_edges_open on penstock_edges (job_id) where is_open;

create table penstock_flows (
  id text primary key,
  name text not null,
  created_at integer not null,
  unfinished integer not null
) without rowid;

create table penstock_flow_jobs (
  flow text not null,
  place integer not null,
  job_id text not null,
  primary key (flow, place)
) without rowid;

create index penstock_flow_jobs_job on penstock_flow_jobs (job_id);

-- What a job has worked out, in the order of `place`.
create table penstock_steps (
  place integer primary key,
  job_id text not null,
  name text not null,
  value text not null,
  unique (job_id, name)
);

create table penstock_schedules (
  id text primary key,
  spec text not null,
  source text,
  next_at integer,
  paused integer not null default 0,
  last_due integer,
  last_job text
) without rowid;

create index penstock_schedules_next on penstock_schedules (next_at, id) where next_at is not null and not paused;

create table penstock_ticks (
  schedule text not null,
  due integer not null,
  fired_at integer not null,
  job_id text,
  note text,
  primary key (schedule, due)
) without rowid;

create table penstock_queues (
  name text primary key,
  paused integer not null default 0
) without rowid;

-- The latest clean-up of a queue that is to be done once, by whoever comes first.
create table penstock_cleanups (
  queue text primary key,
  run text not null
) without rowid;

-- Kept up to date by every verb, so that nobody counts by scanning. State 'dead': dead letters not recovered.
create table penstock_counts (
  queue text not null,
  state text not null,
  n integer not null,
  primary key (queue, state)
) without rowid;

-- By how many the finished jobs that count on a shelf differ from those of the queue of that name.
create table penstock_shelves (
  shelf text not null,
  state text not null,
  n integer not null,
  primary key (shelf, state)
) without rowid;

-- Rows only for lanes other than a queue's open one.
create table penstock_lanes (
  lane text primary key,
  queue text not null,
  task text not null,
  misfit text,
  reason text not null,
  jobs integer not null default 0
) without rowid;

-- Lanes under one limit; of a queue's own group the jobs are counted in penstock_counts.
create table penstock_groups (
  name text primary key,
  queue text not null,
  declared text, -- JSON; null: nobody has
  declared_at integer not null default 0, -- for the last time
  waiting integer not null default 0,
  active integer not null default 0,
  spent_until real not null default 0,
  cooled_until integer not null default 0
) without rowid;

-- Lanes with limits of their own. A LaneRow has the same fields in the same order.
create table penstock_limited_lanes (
  lane text primary key,
  grp text not null,
  queue text not null,
  waiting integer not null,
  active integer not null,
  first_rank integer,
  spent_until real not null,
  cooled_until integer not null,
  owed_until integer not null,
  kind integer,
  turn_key integer,
  changes_at integer
) without rowid;

create index penstock_limited_lanes_line on penstock_limited_lanes (grp, kind, turn_key) where kind is not null;
create index penstock_limited_lanes_owing on penstock_limited_lanes (grp, owed_until) where kind > 0;
create index penstock_limited_lanes_change on penstock_limited_lanes (changes_at) where changes_at is not null;
create index penstock_limited_lanes_opening on penstock_limited_lanes (grp, changes_at)
  where kind is null and changes_at is not null;
create index penstock_limited_lanes_group on penstock_limited_lanes (grp, lane);
create index penstock_limited_lanes_idle on penstock_limited_lanes (lane) where waiting = 0 and active = 0;

-- The clock on which the lanes of a queue work off what they owe: how far it is ahead of the time.
create table penstock_turns (
  queue text primary key,
  ahead integer not null
) without rowid;

create table penstock_breakers (
  name text primary key,
  declared text not null, -- JSON
  declared_at integer not null, -- for the last time
  standing text not null -- JSON
) without rowid;

create table penstock_workers (
  id text primary key,
  name text not null,
  queues text not null,
  slots integer not null,
  started_at integer not null
) without rowid;
