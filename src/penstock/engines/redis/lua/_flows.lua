-- Flows: created, next place, unfinished: double; the rest is the name. Their members stand in a set by place.
local FLOWS = p .. 'flows'
local ended_flows = {}

local function read_flow(flow)
  local raw = call('HGET', FLOWS, flow)
  if not raw then return nil end
  local created, next, unfinished, at = struct.unpack('<ddd', raw)
  return { created = created, next = next, unfinished = unfinished, name = sub(raw, at) }
end

local function write_flow(flow, f)
  call('HSET', FLOWS, flow, struct.pack('<ddd', f.created, f.next, f.unfinished) .. f.name)
end

-- Completed and unsuccessful jobs are kept under bounds of their own, in the order in which they ended.
local BY_ID, BY_END = { c = 'done:', f = 'bad:', x = 'bad:' }, { c = 'ended:', f = 'troubled:', x = 'troubled:' }

-- Where a finished job stands to be pruned, or will when its flow has ended.
local function shelf_of(state, queue, more) return p .. BY_END[state] .. (more and more.s or queue) end

local function each_finished(flow, use)
  local ids = call('ZRANGE', p .. 'flow:' .. flow, 0, -1)
  for i, raw in ipairs(values(RUNS, ids)) do
    local state = raw and sub(raw, 1, 1)
    if state == 'c' or state == 'f' or state == 'x' then
      local run = read_run(raw)
      use(ids[i], run, shelf_of(state, queue_of(run.kind), more_of(ids[i])))
    end
  end
end

-- While one of them is unfinished, none of them stands where it could be pruned.
local function join_flow(id, flow, name, now)
  local f = read_flow(flow)
  if not f then
    f = { created = now, next = 0, unfinished = 0, name = name }
    call('ZADD', p .. 'flowlist', '0', flow)
  elseif f.unfinished == 0 then
    each_finished(flow, function(member, _, shelf) call('ZREM', shelf, member) end)
  end
  call('ZADD', p .. 'flow:' .. flow, f.next, id)
  f.next, f.unfinished = f.next + 1, f.unfinished + 1
  write_flow(flow, f)
end

-- One of its members has ended; whether others have not.
local function end_in_flow(flow)
  local f = read_flow(flow)
  if not f then return false end
  f.unfinished = f.unfinished - 1
  write_flow(flow, f)
  if f.unfinished == 0 then ended_flows[flow] = true end
  return f.unfinished > 0
end

-- Its record goes; with the last one of a flow, the flow.
local function quit_flow(id, flow)
  call('ZREM', p .. 'flow:' .. flow, id)
  if call('EXISTS', p .. 'flow:' .. flow) == 0 then
    call('HDEL', FLOWS, flow)
    call('ZREM', p .. 'flowlist', flow)
  end
end

after_writing[#after_writing + 1] = function()
  for flow in pairs(ended_flows) do
    each_finished(flow, function(id, run, shelf) call('ZADD', shelf, score(run.finished), id) end)
  end
  ended_flows = {}
end
