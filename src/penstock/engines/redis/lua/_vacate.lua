-- The end of a run under limits: its place is free, and who waits for that is woken.

local function any_ready(group)
  return call('EXISTS', set_of(group, 't'), set_of(group, 'o'), set_of(group, 'a')) > 0
end

local function is_full(limit, state) return limit.concurrency and state.active >= limit.concurrency end

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

local function vacate(lane, queue)
  if names_of(lane) then vacate_lane(lane) end
  if is_grouped(queue) then vacate_queue(queue) end
end
