-- The end of a run under limits: its place is free, and who waits for that is woken.

local function any_ready(group)
  return call('EXISTS', set_of(group, 't'), set_of(group, 'o'), set_of(group, 'a')) > 0
end

local function is_full(limit, state) return limit.concurrency and state.active >= limit.concurrency end

-- What the end of a run tells of the services that its groups need: each is told once.
local function tell_breakers(id, healthy, ...)
  local told = {}
  for _, group in ipairs({ ... }) do
    for _, name in ipairs(group.needs) do
      if not told[name] then report(name, text_of(id), healthy, the_time) end
      told[name] = true
    end
  end
end

local function vacate_queue(queue)
  local group = group_at(queue)
  if is_full(group.limit, group) and tonumber(call('HGET', p .. 'counts', queue .. ':waiting') or 0) > 0 then
    ring(queue)
  end
end

local function vacate_lane(name)
  local lane = lane_at(name)
  local group = lane.group
  if is_full(own_limit(lane), lane) and first_rank(lane) or is_full(group.limit, group) and any_ready(group.name) then
    ring(lane.queue)
  end
  lane.active, group.active = math.max(0, lane.active - 1), math.max(0, group.active - 1)
  lane.touched, group.touched = true, true
end

-- Its key, its task, or its queue starts nothing for a while.
local function cool(lane, queue, till)
  local limited = names_of(lane) and lane_at(lane)
  local cooled = limited and (limited.own and limited or limited.group) or group_at(queue)
  if not limited then note_grouped(queue) end
  cooled.cooled, cooled.touched = math.max(cooled.cooled, till), true
end

local function vacate(id, lane, queue, healthy)
  local whole, limited = group_at(queue), names_of(lane) and lane_at(lane)
  tell_breakers(id, healthy, whole, limited and limited.group)
  if limited then vacate_lane(lane) end
  vacate_queue(queue)
end

-- Plain completions in a queue's open lane.
local function vacate_plain(ids, queue)
  local whole = group_at(queue)
  if #whole.needs > 0 then
    for _, id in ipairs(ids) do tell_breakers(id, nil, whole) end
  end
  vacate_queue(queue)
end
