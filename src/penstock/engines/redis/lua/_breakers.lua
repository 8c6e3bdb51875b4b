-- Circuit breakers: as model/breaker.py has them; instants in microseconds.
--   As declared: threshold, reset, probes, share of failures (-1: none), window, minimum, double. As it stands: c closed,
--   o open, h half-open; failures, runs, beginning of the window, since, double; then who probes: until when that counts,
--   double, and name, uint16 and text.
local BREAKERS, CIRCUITS = p .. 'breakers', p .. 'circuits'
local FOREVER = 9e18 -- the end of a probe that somebody is sure to report, a job's
local known_breakers = {}

local function read_probes(raw, at)
  local probes = {}
  while at <= #raw do
    local till, length = struct.unpack('<dH', raw, at)
    probes[#probes + 1] = { name = sub(raw, at + 10, at + 9 + length), till = till }
    at = at + 10 + length
  end
  return probes
end

-- One nobody has declared is closed, and stays so.
local function breaker_at(name)
  local b = known_breakers[name]
  if b then return b end
  local declared, raw = call('HGET', BREAKERS, name), call('HGET', CIRCUITS, name)
  b = {
    name = name, declared = declared, circuit = 'c', failures = 0, runs = 0, window_from = 0, since = 0, probes = {},
  }
  if declared then
    b.threshold, b.reset, b.most, b.share, b.window, b.minimum = struct.unpack('<dddddd', declared)
    if raw then
      local at
      b.circuit, b.failures, b.runs, b.window_from, b.since, at = struct.unpack('<c1dddd', raw)
      b.probes = read_probes(raw, at)
    end
  end
  known_breakers[name] = b
  return b
end

local function write_breaker(b)
  local parts = { struct.pack('<c1dddd', b.circuit, b.failures, b.runs, b.window_from, b.since) }
  for _, probe in ipairs(b.probes) do parts[#parts + 1] = struct.pack('<dH', probe.till, #probe.name) .. probe.name end
  call('HSET', CIRCUITS, b.name, table.concat(parts))
end

after_writing[#after_writing + 1] = function()
  for _, b in pairs(known_breakers) do
    if b.touched and b.declared then write_breaker(b) end
  end
  known_breakers = {}
end

local function turn_to(b, circuit, now) b.circuit, b.since, b.probes, b.touched = circuit, now, {}, true end

local function close(b, now)
  turn_to(b, 'c', now)
  b.failures, b.runs, b.window_from = 0, 0, now
end

-- Those of its probes that fit; whether any did not.
local function keep_probes(b, fits)
  local kept = {}
  for _, probe in ipairs(b.probes) do
    if fits(probe) then kept[#kept + 1] = probe end
  end
  if #kept == #b.probes then return false end
  b.probes, b.touched = kept, true
  return true
end

-- As it stands now: what was open long enough is half-open, probes whose time has passed are gone.
local function look_at(name, now)
  local b = breaker_at(name)
  if b.circuit == 'o' and now >= b.since + b.reset then turn_to(b, 'h', b.since + b.reset) end
  if b.circuit == 'h' then keep_probes(b, function(probe) return probe.till > now end) end
  return b
end

local function room(b)
  if b.circuit == 'c' then return math.huge end
  return b.circuit == 'o' and 0 or math.max(0, b.most - #b.probes)
end

local function retry_in(b, now)
  if b.circuit == 'o' then return math.max(0, b.since + b.reset - now) end
end

local function enter(b, permit, till)
  if b.circuit ~= 'h' then return end
  b.probes[#b.probes + 1], b.touched = { name = permit, till = till }, true
end

-- Whoever waits for this breaker may go on.
local function wake_for(b)
  for _, name in ipairs(call('HKEYS', DECLARED)) do
    for _, need in ipairs(group_at(name).needs) do
      if need == b.name then ring((name:match('^[^>]*'))) end
    end
  end
end

local function is_needed(b, lane)
  local _, group = names_of(lane)
  for _, name in ipairs({ lane:match('^[^>?]*'), group }) do
    for _, need in ipairs(group_at(name).needs) do
      if need == b.name then return true end
    end
  end
  return false
end

-- Groups have ceased to need breakers which jobs of theirs probe: nobody will tell how that ends.
local function forget_probes(lane_of_run)
  for _, name in ipairs(call('HKEYS', CIRCUITS)) do
    local b = breaker_at(name)
    local dropped = keep_probes(b, function(probe)
      local lane = probe.till == FOREVER and lane_of_run(probe.name)
      return probe.till < FOREVER or lane and is_needed(b, lane)
    end)
    if dropped then wake_for(b) end
  end
end

local function count_share(b, healthy, now)
  if now >= b.window_from + b.window then b.window_from, b.failures, b.runs = now, 0, 0 end
  b.runs, b.failures, b.touched = b.runs + 1, b.failures + (healthy and 0 or 1), true
  if not healthy and b.runs >= b.minimum and b.failures >= b.share * b.runs then turn_to(b, 'o', now) end
end

local function count_in_row(b, healthy, now)
  if healthy and b.failures == 0 then return end
  b.failures, b.touched = healthy and 0 or b.failures + 1, true
  if b.failures >= b.threshold then turn_to(b, 'o', now) end
end

local function report_probe(b, permit, healthy, now)
  local mine = keep_probes(b, function(probe) return probe.name ~= permit end)
  if not mine then return end
  if healthy then close(b, now) end
  if healthy == false then turn_to(b, 'o', now) else wake_for(b) end
end

-- A run ended; nothing for `healthy` says nothing of the service.
local function report(name, permit, healthy, now)
  local b = look_at(name, now)
  if not b.declared then return end
  if b.circuit == 'h' then return report_probe(b, permit, healthy, now) end
  if b.circuit == 'o' or healthy == nil then return end
  if b.share >= 0 then count_share(b, healthy, now) else count_in_row(b, healthy, now) end
end
