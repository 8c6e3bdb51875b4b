-- Where a lane that jobs wait in stands among those of its group:
--   t by the rank of its first job, where it owes nothing; o by rank and debt, where it does; a by debt alone, where its
--   first job is so old that age gains it nothing; r resting, by when it opens; - nowhere: nobody waits there, or a run
--   must end first. So the order within each set holds as time passes, though that between them does not. Who is in o is
--   in d too, by debt alone.
-- What lanes owe is worked off by a clock of their queue, which is ahead of the time by what was forgiven to all of them.
local TURN_COST, OLDEST_TURN = 10000000, 900000000 -- see model/lanes.py
local SETS = { t = 'turn:', o = 'owing:', a = 'aged:', r = 'resting:', d = 'debts:' }
local TURNS, ahead = p .. 'turns', {}

local function set_of(group, letter) return p .. SETS[letter] .. group end

local function debt_clock(queue, now)
  if not ahead[queue] then ahead[queue] = tonumber(call('HGET', TURNS, queue) or 0) end
  return now + ahead[queue]
end

local function put_on(queue, by)
  ahead[queue] = ahead[queue] + by
  call('HSET', TURNS, queue, string.format('%.17g', ahead[queue]))
end

local function owed(lane, now) return math.max(0, lane.owing - debt_clock(lane.queue, now)) end

local function first_rank(lane)
  local first = call('ZRANGEBYSCORE', lane.key, '-inf', '(+inf', 'WITHSCORES', 'LIMIT', 0, 1)
  return first[2] and tonumber(first[2])
end

local function opens_at(lane, limit)
  local at = lane.cooled
  if limit.rate then at = math.max(at, earned_at(limit, lane.spent, 0.999999)) end
  return at
end

-- Its set, and its score there.
local function place_for(lane, now)
  local rank, limit = first_rank(lane), own_limit(lane)
  if not rank then return '-' end
  local left, wait = gate(limit, lane, now)
  if left == 0 then
    if wait then return 'r', opens_at(lane, limit) end
    return '-'
  end
  if owed(lane, now) == 0 then return 't', rank end
  if rank <= now - OLDEST_TURN then return 'a', lane.owing end
  return 'o', rank + lane.owing
end

-- A lane in one of its group's sets, whatever its own record says: that may have been lost.
local function found_in(letter, name)
  local lane = lane_at(name)
  lane.place = letter
  return lane
end

local function leave_place(lane)
  if lane.place ~= '-' then call('ZREM', set_of(lane.group.name, lane.place), lane.name) end
  if lane.place == 'o' then call('ZREM', set_of(lane.group.name, 'd'), lane.name) end
  lane.place = '-'
end

local function write_lane(lane)
  call('HSET', LIMITED, lane.name,
    struct.pack('<ddddc1', lane.active, lane.spent, lane.cooled, lane.owing, lane.place))
end

-- Stand where it belongs now, and be found there.
local function take_place(lane, now)
  local group = lane.group.name
  local place, rank = place_for(lane, now)
  if lane.place ~= place then leave_place(lane) end
  lane.place = place
  if place ~= '-' then
    call('ZADD', set_of(group, place), string.format('%.17g', rank), lane.name)
    if place == 'o' then call('ZADD', set_of(group, 'd'), string.format('%.17g', lane.owing), lane.name) end
    call('SADD', p .. 'ready:' .. lane.queue, group)
  elseif lane.active == 0 then
    call('ZADD', p .. 'idle', score(math.max(lane.spent, lane.cooled, now + owed(lane, now))), lane.name)
  end
  if lane.fresh then
    call('ZADD', p .. 'lanes:' .. group, '0', lane.name)
    note_grouped(lane.queue)
    lane.fresh = nil
  end
  write_lane(lane)
end

-- Something about a lane or a group has changed, or about who waits there.
local function touch(lane) lane_at(lane).touched = true end

after_writing[#after_writing + 1] = function()
  for _, lane in pairs(known_lanes) do
    if lane.touched then take_place(lane, the_time) end
    lane.touched = nil
  end
  for name, group in pairs(known_groups) do
    if group.touched then
      local active = group.whole_queue and 0 or group.active
      call('HSET', STANDING, name, struct.pack('<ddd', active, group.spent, group.cooled))
    end
  end
  known_groups, known_lanes = {}, {}
end
