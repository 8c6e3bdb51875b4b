-- Of `queues.lua`.
local PART = 8
local now, most = time_of(ARGV[1]), tonumber(ARGV[2])
local counts, oldest, seen = call('HGETALL', p .. 'counts'), {}, {}

local function due_of(id)
  local run = call('HGET', RUNS, id)
  local due = run and read_run(run).due or 0
  if due > 0 then return due end
  local base = call('HGET', JOBS, id)
  return base and struct.unpack('<d', base, 9)
end

-- When the first of a lane was due; what is past its expiry is passed over.
local function head_of(lane)
  local from = 0
  while true do
    local ids = call('ZRANGEBYSCORE', p .. 'lane:' .. lane, '-inf', '(+inf', 'LIMIT', from, PART)
    for _, id in ipairs(ids) do
      local expires = call('ZSCORE', p .. 'expiring', id)
      if not expires or tonumber(expires) > now then return due_of(id) end
    end
    if #ids < PART then return nil end
    from = from + PART
  end
end

local function groups_of(queue)
  local names, known = {}, {}
  local function learn(all)
    for _, name in ipairs(all) do
      if sub(name, 1, #queue + 1) == queue .. '>' and not known[name] then
        known[name] = true
        names[#names + 1] = name
      end
    end
  end
  learn(call('HKEYS', p .. 'groups'))
  learn(call('HKEYS', p .. 'standing'))
  learn(call('SMEMBERS', p .. 'ready:' .. queue))
  table.sort(names)
  return names
end

local function limited_lanes(queue)
  local lanes = {}
  if call('HEXISTS', p .. 'grouped', queue) == 0 then return lanes end
  for _, group in ipairs(groups_of(queue)) do
    for _, lane in ipairs(call('ZRANGE', p .. 'lanes:' .. group, 0, most - #lanes - 1)) do lanes[#lanes + 1] = lane end
    if #lanes >= most then break end
  end
  return lanes
end

local function look_at(queue)
  local least = head_of(queue)
  for _, lane in ipairs(limited_lanes(queue)) do
    local due = head_of(lane)
    if due then least = math.min(least or due, due) end
  end
  if least then oldest[#oldest + 1], oldest[#oldest + 2] = queue, score(least) end
end

for i = 1, #counts, 2 do
  local queue = counts[i]:match('^(.*):waiting$')
  if most and queue and tonumber(counts[i + 1]) > 0 then look_at(queue) end
end
return { counts, call('HGETALL', p .. 'queues'), oldest }
