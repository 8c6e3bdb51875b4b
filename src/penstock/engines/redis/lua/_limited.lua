-- Limits. Their functions are made where the first of them is needed: most scripts need none.
local GROUPED, grouped = p .. 'grouped', {}

-- Queue, group, and whether it has a key of its own; nothing for lanes without limits.
local function names_of(lane)
  local queue, task, key = lane:match('^([^>]*)>([^>]*)(>?)')
  if queue then return queue, queue .. '>' .. task, key == '>' end
end

-- Whether there is anything limited about a queue: asked once in a script.
local function is_grouped(queue)
  if grouped[queue] == nil then grouped[queue] = call('HEXISTS', GROUPED, queue) == 1 end
  return grouped[queue]
end

-- The same for several at once.
local function learn_grouped(queues)
  local unknown = {}
  for _, queue in ipairs(queues) do
    if grouped[queue] == nil then unknown[#unknown + 1] = queue end
  end
  for i, found in ipairs(values(GROUPED, unknown)) do grouped[unknown[i]] = found ~= false end
end

local function note_grouped(queue)
  call('HSET', GROUPED, queue, '1')
  grouped[queue] = true
end

local limits_made

local function limits()
  if limits_made then return limits_made end
  --@ _limits
  --@ _groups
  --@ _breakers
  --@ _places
  --@ _vacate
  --@ _idle
  --@ _fair
  limits_made = {
    gate = gate, group_at = group_at, lane_at = lane_at, own_limit = own_limit, touch = touch, vacate = vacate,
    vacate_plain = vacate_plain, cool = cool, drop_idle = drop_idle, drop_grouped = drop_grouped,
    drop_undeclared = drop_undeclared,
    candidates = fair_candidates, settle_accounts = settle_accounts, outlook = outlook, sooner = sooner,
    group_gate = group_gate, look_at = look_at, room = room, retry_in = retry_in, enter = enter, report = report,
    close = close, turn_to = turn_to, wake_for = wake_for, forget_probes = forget_probes,
  }
  return limits_made
end
