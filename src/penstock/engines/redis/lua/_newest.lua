-- Ids from several sets, newest first. Bounded: `some` of them at most, however large the sets are.
local function newest(keys, after, some)
  local open, found = {}, {}
  local top = after == '' and '+' or '(' .. after
  for _, key in ipairs(keys) do
    local ids = call('ZREVRANGEBYLEX', key, top, '-', 'LIMIT', 0, some)
    if #ids > 0 then open[#open + 1] = { ids = ids, next = 1 } end
  end
  while #found < some do
    local first
    for _, from in ipairs(open) do
      local id = from.ids[from.next]
      if id and (not first or id > first.ids[first.next]) then first = from end
    end
    if not first then break end
    found[#found + 1] = first.ids[first.next]
    first.next = first.next + 1
  end
  return found
end

-- The kinds of these queues and tasks; '' for any.
local function kinds_of(queue, task)
  local kinds = {}
  for _, kind in ipairs(call('SMEMBERS', p .. 'kinds')) do
    local its_queue, its_task = kind:match('^(.-):(.*)$')
    if (queue == '' or queue == its_queue) and (task == '' or task == its_task) then kinds[#kinds + 1] = kind end
  end
  return kinds
end

-- How many ids one look may take from each of so many sets.
local function share(sets) return math.max(20, math.min(500, math.floor(4000 / math.max(1, sets)))) end
