-- One door out of active, whoever opens it. An end, as `settle.py` packs it:
--   id, token: 16 bytes; ran_for: double, seconds; state: one letter; flags: byte; delay: double, microseconds;
--   then sections as in a run: n note, r result, e error, q reason of a dead letter, l what follows the
--   queue in the name of a parked lane, k why it is parked, m the lane where it belongs, c cooldown: double,
--   us, h 1 or 0: what it tells of the services it needs.
--   Flags: 1 refund, 2 keep_place, 4 suspect, 8 crashed, 16 rescued, 32 keep the record, 64 not by its holder.
local function read_sections(packed, at, last)
  local texts = {}
  while at <= last do
    local name, length = struct.unpack('<c1I4', packed, at)
    texts[name] = sub(packed, at + 5, at + 4 + length)
    at = at + 5 + length
  end
  return texts
end

local function read_end(packed)
  local e, flags, at = {}
  e.id, e.token, e.ran_for, e.state, flags, e.delay, at = struct.unpack('<c16c16dc1Bd', packed)
  e.refund, e.keep_place, e.suspect, e.crashed = has(flags, 1), has(flags, 2), has(flags, 4), has(flags, 8)
  e.rescued, e.keep, e.taken = has(flags, 16), has(flags, 32), has(flags, 64)
  e.texts = read_sections(packed, at, #packed)
  return e
end

-- A parked job that ran goes back to its own lane, unless it is parked anew.
local function lane_after(base, run, e)
  if e.texts.m then return e.texts.m end
  if e.texts.l then
    local lane = base.queue .. e.texts.l
    call('HSET', p .. 'lanes', lane, e.texts.k or '')
    return lane
  end
  if not lane_of(base, run):find('?', 1, true) then return run.lane end
  return base.lane:find('?', 1, true) and base.queue or base.lane
end

-- What has run does not expire.
local function unexpiring(id, base, run)
  local raw, at = call('HGET', JOBS, id), 25 + #base.kind -- where how long it may wait stands
  base.flags, base.expires = base.flags - EXPIRES, nil
  run.base_flags = run.base_flags - EXPIRES
  later('HSET', JOBS, id, sub(raw, 1, 16) .. string.char(base.flags) .. sub(raw, 18, at - 1) .. sub(raw, at + 8))
end

local function run_again(id, run, e, now)
  local base = read_base(call('HGET', JOBS, id))
  if base.expires and (run.suspect or not e.keep_place) then unexpiring(id, base, run) end
  if not e.keep_place then run.due = now + e.delay end
  -- What was handed back from its first run has not started; a snooze was a run, though no attempt.
  if e.keep_place and run.attempt == 0 and #run.errors == 0 and run.ran_for == e.ran_for then run.started = 0 end
  run.lane = lane_after(base, run, e)
  run.state, run.worker, run.request = 'w', '', ''
  later('HSET', RUNS, id, write_run(run))
  line_up(id, base, run, e.state)
end

-- Whoever was rescued tells nothing.
local function health_of(e)
  if e.taken or not e.texts.h then return nil end
  return e.texts.h == '1'
end

local function let_go(id, run, e, now)
  local queue, lane = queue_of(run.kind), run.lane
  local base = lane == '' and has(run.base_flags, LANE) and call('HGET', JOBS, id)
  later('SREM', p .. 'held:' .. run.worker, id)
  if run.cancel then later('SREM', p .. 'cancels:' .. run.worker, id) end
  if lane == '' then lane = base and read_base(base).lane or queue end
  if names_of(lane) or is_grouped(queue) then limits().vacate(id, lane, queue, health_of(e)) end
  if e.texts.c then limits().cool(lane, queue, now + struct.unpack('<d', e.texts.c)) end
  count(queue, 'a', -1)
end

-- Write an end to an active job; the state it is in afterwards.
local function end_run(run, e, now)
  let_go(e.id, run, e, now)
  if e.texts.e then
    run.errors[#run.errors + 1] = struct.pack('<d', now) .. e.texts.e
    if #run.errors > ERRORS_KEPT then table.remove(run.errors, 1) end
  end
  if e.refund and run.attempt > 0 then run.attempt = run.attempt - 1 end
  run.ran_for = run.ran_for + e.ran_for
  run.suspect = run.suspect or e.suspect
  run.crashes = run.crashes + (e.crashed and 1 or 0)
  run.rescues = run.rescues + (e.rescued and 1 or 0)
  if e.taken then run.token = NOBODY end
  if run.cancel and (e.state == 'w' or e.state == 'd' or e.state == 'x') then e.state, e.texts.n = 'x', run.texts.n end
  run.texts.n, run.texts.r = e.texts.n, e.texts.r
  if e.state == 'w' or e.state == 'd' then
    run_again(e.id, run, e, now)
  else
    if e.state == 'f' then bury(e.id, run, e.texts.q or 'failed', e.texts.e and run.errors[#run.errors], now) end
    finish(e.id, run, e.state, now, e.keep or e.state ~= 'c')
  end
  return e.state
end
