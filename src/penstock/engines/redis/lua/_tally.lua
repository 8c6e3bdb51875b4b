-- Changes that verbs make on the side, gathered to be written together.
local COUNTED = {
  w = 'waiting', d = 'delayed', b = 'blocked', a = 'active', c = 'completed', f = 'failed', x = 'cancelled',
}
local counted, owed, rung, batches = {}, {}, {}, {}
local before_writing, after_writing = {}, {} -- what parts do, whenever changes are written

local function count(queue, state, by)
  local field = queue .. ':' .. (COUNTED[state] or state)
  counted[field] = (counted[field] or 0) + by
end

-- How many unfinished jobs an owner has.
local function owe(owner, by) owed[owner] = (owed[owner] or 0) + by end

-- These have ended; some of them have owners.
local function owe_no_more(ids)
  for _, raw in ipairs(values(JOBS, ids)) do
    local owner = raw and read_base(raw).owner
    if owner then owe(owner, -1) end
  end
end

-- There is work in this queue: one of those who wait will hear of it, and tell the next if work is left.
local function ring(queue) rung[queue] = true end

-- To be done with one command per key. Within one script a job takes part in this once, or it is written between.
local function later(command, key, ...)
  local name = command .. key
  local batch = batches[name]
  if not batch then
    batch = { command = command, key = key, list = {} }
    batches[name], batches[#batches + 1] = batch, batch
  end
  local list = batch.list
  for i = 1, select('#', ...) do list[#list + 1] = (select(i, ...)) end
end

local function write_all()
  for _, hook in ipairs(before_writing) do hook() end
  for _, batch in ipairs(batches) do change(batch.command, batch.key, batch.list) end
  batches = {}
  for _, hook in ipairs(after_writing) do hook() end
  for field, by in pairs(counted) do
    if by ~= 0 then call('HINCRBY', p .. 'counts', field, by) end
  end
  for owner, by in pairs(owed) do
    if by ~= 0 and call('HINCRBY', p .. 'owing', owner, by) <= 0 then call('HDEL', p .. 'owing', owner) end
  end
  for queue in pairs(rung) do
    local bell = p .. 'bell:' .. queue
    if call('EXISTS', bell) == 0 then call('RPUSH', bell, 1) end
  end
  counted, owed, rung = {}, {}, {}
end
