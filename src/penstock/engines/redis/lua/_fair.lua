-- Whose turn it is where there are limits: lanes that may start something, the earliest turn first.
-- Gates are what holds starts back: each has what is left. A source of jobs stands behind several of them, and takes from
-- all of them at once.
local MOST_MOVED = 20 -- lanes found at a place that is theirs no longer, in one look
local MOST_RESTED = 100 -- lanes taken up again that have rested long enough, of one group in one claim
local FEW = 8 -- jobs of a limited lane that are looked at, at first

local function may_pass(gates)
  for _, each in ipairs(gates) do
    if each.left <= 0 then return false end
  end
  return true
end

-- -- in which order -------------------------------------------------------------------------------------
local function comes_first(one, other)
  if one.turn ~= other.turn then return one.turn < other.turn end
  if one.rank ~= other.rank then return one.rank < other.rank end
  return one.name < other.name
end

local function push(heap, item)
  local at = #heap + 1
  heap[at] = item
  while at > 1 do
    local above = math.floor(at / 2)
    if not comes_first(item, heap[above]) then break end
    heap[at], heap[above] = heap[above], item
    at = above
  end
end

local function pop(heap)
  local first, last = heap[1], table.remove(heap)
  if #heap == 0 then return first end
  heap[1] = last
  local at = 1
  while true do
    local below = 2 * at
    if heap[below + 1] and comes_first(heap[below + 1], heap[below]) then below = below + 1 end
    if not heap[below] or not comes_first(heap[below], last) then break end
    heap[at], heap[below] = heap[below], last
    at = below
  end
  return first
end

-- -- sources --------------------------------------------------------------------------------------------
local function read_on(source)
  local found = call('ZRANGEBYSCORE', source.key, '-inf', '(+inf', 'WITHSCORES', 'LIMIT', #source.ids, source.some)
  source.all_read, source.some = #found < 2 * source.some, source.some * 2
  for i = 1, #found, 2 do
    source.ids[#source.ids + 1], source.ranks[#source.ranks + 1] = found[i], tonumber(found[i + 1])
  end
end

-- Stand in the heap with the next job, if there is one.
local function offer(heap, source, now)
  if not source.ids[source.next] and not source.all_read then read_on(source) end
  source.rank, source.name = source.ranks[source.next], source.ids[source.next]
  if not source.rank then return end
  source.turn = math.max(source.rank, now - OLDEST_TURN) + source.owes
  push(heap, source)
end

local function as_source(source, gates, owes, some)
  source.ids, source.ranks, source.next, source.all_read, source.used = {}, {}, 1, false, 0
  source.gates, source.owes, source.some, source.probing = gates, owes, some, nil
  for _, each in ipairs(gates) do
    if each.breaker and each.breaker.circuit == 'h' then source.probing = {} end
  end
  return source
end

local function sooner(one, other) return one and other and math.min(one, other) or one or other end

-- Where every lane of a queue that may start something owes, the least that one of them does is forgiven to all.
local function forgive(queue, groups, now)
  local least
  for _, each in ipairs(groups) do
    if call('EXISTS', set_of(each.group.name, 't')) == 1 then return end
    for _, letter in ipairs({ 'a', 'd' }) do
      local first = call('ZRANGE', set_of(each.group.name, letter), 0, 0, 'WITHSCORES')
      least = sooner(least, tonumber(first[2]))
    end
  end
  local by = least and least - debt_clock(queue, now) or 0
  if by > 0 then put_on(queue, by) end
end

-- The lane of a group whose turn is next, its turn and its rank, as far as they must be known.
local function front_of(group, queue, now)
  local best
  local clock = debt_clock(queue, now)
  local function consider(letter, name, turn)
    if not best or turn < best.turn then
      best = { set = letter, lane = name, turn = turn, rank = turn, name = name }
    end
  end
  local moved = 0
  while true do
    local name, at = unpack(call('ZRANGE', set_of(group, 'o'), 0, 0, 'WITHSCORES'))
    if not name then break end
    local lane = found_in('o', name)
    local rank = tonumber(at) - lane.owing
    if lane.owing > clock and rank > now - OLDEST_TURN or moved == MOST_MOVED then
      consider('o', name, math.max(rank, now - OLDEST_TURN) + owed(lane, now))
      break
    end
    take_place(lane, now)
    moved = moved + 1
  end
  local aged, owing = unpack(call('ZRANGE', set_of(group, 'a'), 0, 0, 'WITHSCORES'))
  if aged then consider('a', aged, now - OLDEST_TURN + math.max(0, tonumber(owing) - clock)) end
  local free, rank = unpack(call('ZRANGE', set_of(group, 't'), 0, 0, 'WITHSCORES'))
  if free then consider('t', free, math.max(tonumber(rank), now - OLDEST_TURN)) end
  return best
end

local function offer_front(heap, group, gates, now)
  local front = front_of(group.name, group.name:match('^[^>]*'), now)
  if not front then return end
  front.group, front.gates = group, gates
  push(heap, front)
end

local function wake_rested(group, now)
  for _, name in ipairs(call('ZRANGEBYSCORE', set_of(group, 'r'), '-inf', score(now), 'LIMIT', 0, MOST_RESTED)) do
    take_place(found_in('r', name), now)
  end
end

-- A lane leaves its place to be claimed from, and gets another when that is written.
local function take_up(heap, front, lanes, now)
  local lane = found_in(front.set, front.lane)
  leave_place(lane)
  lane.touched = true
  local left = gate(own_limit(lane), lane, now)
  if left <= 0 then return end
  local gates = { { left = left }, unpack(front.gates) }
  local source = as_source({ key = lane.key, queue = lane.queue, started = 0, lane = lane }, gates,
    owed(lane, now), FEW)
  lanes[#lanes + 1] = source
  offer(heap, source, now)
end

-- -- gates ----------------------------------------------------------------------------------------------
-- A breaker's is one for all groups that need it.
local function gates_of(group, of_breaker, now)
  local gates = { { left = (gate(group.limit, group, now)) } }
  for _, name in ipairs(group.needs) do
    if not of_breaker[name] then
      local breaker = look_at(name, now)
      of_breaker[name] = { left = room(breaker), breaker = breaker }
    end
    gates[#gates + 1] = of_breaker[name]
  end
  return gates
end

local function has_limits(group)
  return group.limit.rate or group.limit.concurrency or #group.needs > 0
end

local function joined(...)
  local all = {}
  for _, gates in ipairs({ ... }) do
    for _, each in ipairs(gates) do all[#all + 1] = each end
  end
  return all
end

-- Everything that jobs of the wanted queues can come from, first in turn. `lanes` are those without limits of their own.
local function line_up_sources(want, lanes, now)
  local heap, of_queue, of_breaker = {}, {}, {}
  local free = { { left = want.free } }
  for queue, most in pairs(want.most) do
    of_queue[queue] = { { left = most } }
    if is_grouped(queue) then
      local whole = group_at(queue)
      local gates = joined(of_queue[queue], gates_of(whole, of_breaker, now))
      of_queue[queue] = has_limits(whole) and joined(gates, free) or gates
      local open = {}
      for _, name in ipairs(call('SMEMBERS', p .. 'ready:' .. queue)) do
        local group = group_at(name)
        wake_rested(name, now)
        local all = joined(gates, gates_of(group, of_breaker, now))
        if may_pass(all) then open[#open + 1] = { group = group, gates = joined(all, free) } end
      end
      forgive(queue, open, now)
      for _, each in ipairs(open) do
        if may_pass(each.gates) then offer_front(heap, each.group, each.gates, now) end
      end
    end
  end
  for _, lane in ipairs(lanes) do
    as_source(lane, of_queue[lane.queue], 0, math.min(want.limit, want.most[lane.queue]))
    if may_pass(lane.gates) then offer(heap, lane, now) end
  end
  return heap
end

-- Who is first in turn: ids, and the source of each. Limited lanes that are taken up are added to `lanes`.
local function fair_candidates(want, lanes, limit, now)
  local ids, from, heap = {}, {}, line_up_sources(want, lanes, now)
  while #ids < limit and heap[1] do
    local first = pop(heap)
    if may_pass(first.gates) then
      if first.group then
        take_up(heap, first, lanes, now)
        offer_front(heap, first.group, first.gates, now)
      else
        ids[#ids + 1], from[#from + 1] = first.ids[first.next], first
        for _, each in ipairs(first.gates) do each.left = each.left - 1 end
        first.next = first.next + 1
        if first.lane then first.owes = first.owes + TURN_COST end
        offer(heap, first, now)
      end
    end
  end
  return ids, from
end

-- -- accounts -------------------------------------------------------------------------------------------
local function charge(limit, state, started, now)
  state.spent, state.active, state.touched = spend(limit, state.spent, now, started), state.active + started, true
end

local function enter_as_probes(source)
  for _, id in ipairs(source.probing or {}) do
    for _, each in ipairs(source.gates) do
      if each.breaker then enter(each.breaker, text_of(id), FOREVER) end
    end
  end
end

-- What was started counts from now on.
local function settle_accounts(want, lanes, now)
  for _, source in ipairs(lanes) do
    if source.started > 0 and is_grouped(source.queue) then
      local whole, lane = group_at(source.queue), source.lane
      charge(whole.limit, whole, source.started, now)
      enter_as_probes(source)
      if lane then
        charge(lane.group.limit, lane.group, source.started, now)
        charge(own_limit(lane), lane, source.started, now)
        lane.owing = debt_clock(lane.queue, now) + owed(lane, now) + source.started * TURN_COST
      end
      if lane or has_limits(whole) then want.free = want.free - source.started end
    end
  end
end

-- -- afterwards -----------------------------------------------------------------------------------------
-- As `gate`, by the limit of a group and by the breakers it needs.
local function group_gate(group, now)
  local left, wait = gate(group.limit, group, now)
  local only_time = left > 0 or wait ~= nil
  for _, name in ipairs(group.needs) do
    local breaker = look_at(name, now)
    local free, after = room(breaker), retry_in(breaker, now)
    only_time = only_time and (free > 0 or after ~= nil)
    left, wait = math.min(left, free), math.max(wait or 0, after or 0)
  end
  return left, only_time and wait or nil
end

-- Whether something of a group could start now; after how long more may, where only time is needed.
local function outlook_of(name, now)
  local left, wait = group_gate(group_at(name), now)
  if left == 0 then return false, wait end
  local first = call('ZRANGE', set_of(name, 'r'), 0, 0)[1]
  local resting = first and lane_at(first)
  local could, rest = 0, nil
  if resting then could, rest = gate(own_limit(resting), resting, now) end
  return could > 0 or any_ready(name), rest
end

-- The groups of a queue that have lanes where no run must end first.
local function ready_groups(queue)
  local names = {}
  for _, name in ipairs(call('SMEMBERS', p .. 'ready:' .. queue)) do
    if any_ready(name) or call('EXISTS', set_of(name, 'r')) == 1 then
      names[#names + 1] = name
    else
      call('SREM', p .. 'ready:' .. queue, name)
    end
  end
  return names
end

-- As `outlook_of`, for a whole queue; `waiting`: somebody waits in its open lane or is parked there for this worker.
local function outlook(queue, waiting, now)
  local left, wait = group_gate(group_at(queue), now)
  local names = ready_groups(queue)
  if left == 0 then return false, (waiting or #names > 0) and wait or nil end
  local startable, soonest = waiting, nil
  for _, name in ipairs(names) do
    local could, after = outlook_of(name, now)
    startable, soonest = startable or could, sooner(soonest, after)
  end
  return startable, soonest
end
