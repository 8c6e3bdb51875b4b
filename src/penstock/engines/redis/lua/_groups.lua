-- Groups of lanes, and the lanes in them. What is read is kept until changes are written.
--   A group as declared: rate, burst and concurrency (-1: none), double, of all its lanes and of each that has a key;
--   then the breakers it needs, each behind a \0, and both rates as people wrote them, each behind a \1. As it stands:
--   active, spent until, cooled until, double; of a queue's own group its counts tell what is active.
--   A lane: active, spent until, cooled until, owing until, double; and a letter: in which of its group's sets it is.
local DECLARED, STANDING, LIMITED = p .. 'groups', p .. 'standing', p .. 'limited'
local known_groups, known_lanes = {}, {}

local function limit_of(rate, burst, concurrency)
  return { rate = rate >= 0 and rate or nil, burst = burst, concurrency = concurrency >= 0 and concurrency or nil }
end

local function read_declared(raw)
  if not raw then return { limit = {}, per_key = {}, needs = {} } end
  local a, b, c, d, e, f, at = struct.unpack('<dddddd', raw)
  local group = { limit = limit_of(a, b, c), per_key = limit_of(d, e, f), needs = {}, declared = true }
  for name in sub(raw, at):match('^[^\1]*'):gmatch('%z([^%z]+)') do group.needs[#group.needs + 1] = name end
  return group
end

local function group_at(name)
  local group = known_groups[name]
  if group then return group end
  group = read_declared(call('HGET', DECLARED, name))
  local raw = call('HGET', STANDING, name)
  group.name, group.active, group.spent, group.cooled = name, 0, 0, 0
  if raw then group.active, group.spent, group.cooled = struct.unpack('<ddd', raw) end
  group.whole_queue = not name:find('>', 1, true)
  if group.whole_queue then group.active = tonumber(call('HGET', p .. 'counts', name .. ':active') or 0) end
  known_groups[name] = group
  return group
end

local function lane_at(name)
  local lane = known_lanes[name]
  if lane then return lane end
  lane = { name = name, key = p .. 'lane:' .. name, active = 0, spent = 0, cooled = 0, owing = 0, place = '-' }
  local group, raw = nil, call('HGET', LIMITED, name)
  lane.queue, group, lane.own = names_of(name)
  lane.group = group_at(group)
  if raw then
    lane.active, lane.spent, lane.cooled, lane.owing, lane.place = struct.unpack('<ddddc1', raw)
  else
    lane.fresh = true
  end
  known_lanes[name] = lane
  return lane
end

-- What limits a lane by itself: only those with a key.
local function own_limit(lane) return lane.own and lane.group.per_key or {} end
