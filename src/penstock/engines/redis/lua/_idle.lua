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
