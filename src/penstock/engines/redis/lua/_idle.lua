-- Lanes that nobody waits in, where nothing runs and all is worked off.
local function drop_idle(now, some)
  for _, name in ipairs(call('ZRANGEBYSCORE', p .. 'idle', '-inf', score(now), 'LIMIT', 0, some)) do
    local lane = lane_at(name)
    local busy = math.max(lane.spent, lane.cooled, now + owed(lane, now)) > now or lane.active > 0
    call('ZREM', p .. 'idle', name)
    if not busy and call('EXISTS', lane.key) == 0 then
      call('HDEL', LIMITED, name)
      call('ZREM', p .. 'lanes:' .. lane.group.name, name)
    end
  end
end

-- A queue about which nothing is limited any more is claimed from as one that never was.
local function drop_grouped(now)
  local names = call('HKEYS', STANDING)
  for _, queue in ipairs(call('HKEYS', GROUPED)) do
    local bare, idle = true, {}
    for _, name in ipairs(call('HKEYS', DECLARED)) do
      if name:match('^[^>]*') == queue then bare = false end
    end
    for _, name in ipairs(names) do
      if name:match('^[^>]*') == queue then
        idle[#idle + 1] = name
        bare = bare and group_at(name).cooled <= now and call('EXISTS', p .. 'lanes:' .. name) == 0
      end
    end
    if bare and call('EXISTS', p .. 'ready:' .. queue) == 0 then
      call('HDEL', GROUPED, queue)
      call('HDEL', TURNS, queue)
      change('HDEL', STANDING, idle)
    end
  end
end

-- Nobody says any more that there is such a thing: not for seven days.
local function is_forgotten(what, now)
  return tonumber(call('HGET', p .. 'declared', what) or 0) <= now - 604800e6
end

local function drop_declared(what, name, ...)
  for _, key in ipairs({ ... }) do call('HDEL', key, name) end
  call('HDEL', p .. 'declared', what .. name)
end

local function bounds_nothing(group)
  local limit, per_key = group.limit, group.per_key
  return not (limit.rate or limit.concurrency or per_key.rate or per_key.concurrency or #group.needs > 0)
end

local function is_unused(group, now)
  if group.active > 0 or math.max(group.spent, group.cooled) > now then return false end
  if not group.whole_queue then return call('EXISTS', p .. 'lanes:' .. group.name) == 0 end
  return tonumber(call('HGET', p .. 'counts', group.name .. ':waiting') or 0) == 0
end

-- Let go of groups that nobody declares any more, or that bound nothing, and of breakers that no group needs.
local function drop_undeclared(now)
  local needed = {}
  for _, name in ipairs(call('HKEYS', DECLARED)) do
    local group = group_at(name)
    if (bounds_nothing(group) or is_forgotten('g:' .. name, now)) and is_unused(group, now) then
      drop_declared('g:', name, DECLARED, STANDING)
    else
      for _, need in ipairs(group.needs) do needed[need] = true end
    end
  end
  for _, name in ipairs(call('HKEYS', BREAKERS)) do
    if not needed[name] and is_forgotten('b:' .. name, now) then drop_declared('b:', name, BREAKERS, CIRCUITS) end
  end
end
