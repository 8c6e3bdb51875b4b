-- Where unfinished jobs stand: in a lane by rank, among the delayed by when they are due, or blocked behind others.
local BLOCKED, EDGES, DEADLINES = p .. 'blocked', p .. 'edges', p .. 'deadlines'

local function state_of(id, run)
  local state = run and sub(run, 1, 1) or 'w'
  if state ~= 'w' then return state end
  if call('ZSCORE', p .. 'delayed', id) then return 'd' end
  return not run and call('HEXISTS', BLOCKED, id) == 1 and 'b' or 'w'
end

-- It waits for nobody any more.
local function untie(id)
  local edges, gone = more_of(id).a or '', {}
  for i = 1, #edges, 17 do gone[#gone + 1] = sub(edges, i, i + 15) .. id .. sub(edges, i + 16, i + 16) end
  change('ZREM', EDGES, gone)
  call('HDEL', BLOCKED, id)
  call('ZREM', DEADLINES, id)
end

local function lane_of(base, run) return run.lane ~= '' and run.lane or base.lane end

local function line_up(id, base, run, state)
  local due = run.due > 0 and run.due or base.due
  if state == 'd' then
    later('ZADD', p .. 'delayed', due, id)
  else
    local lane = lane_of(base, run)
    if names_of(lane) then
      limits().touch(lane)
    elseif lane ~= base.queue then
      call('HSETNX', p .. 'lanes', lane, run.texts.n or '')
    end
    later('ZADD', p .. 'lane:' .. lane, due - base.head * 1000000, id)
    ring(base.queue)
  end
  if base.expires then later('ZADD', p .. 'expiring', base.expires, id) end
  count(base.queue, state, 1)
end

local function leave_line(id, base, run, state)
  if state == 'b' then
    untie(id)
  elseif state == 'd' then
    later('ZREM', p .. 'delayed', id)
  else
    local lane = lane_of(base, run)
    later('ZREM', p .. 'lane:' .. lane, id)
    if names_of(lane) then limits().touch(lane) end
  end
  if base.expires and state ~= 'b' then later('ZREM', p .. 'expiring', id) end
  count(base.queue, state, -1)
end
