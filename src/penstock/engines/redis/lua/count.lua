#!lua
-- Add what was counted to the minute and the quarter of an hour that it is, and to the totals. The measures of a task are one packed map: a field for
-- each would take several times the memory.
-- KEYS 1 prefix
-- ARGV 1 now or ''; 2 of how many tasks; then for each: "queue:task", and measures as JSON; then for each queue: "queue:", and
-- those of all its tasks
--@ _keys
local MINUTE, QUARTER = 60000000, 900000000
local now = time_of(ARGV[1])
local at, quarter = score(now - now % MINUTE), score(now - now % QUARTER)
local tasks_end = 2 + 2 * tonumber(ARGV[2])

local function add(key, field, measures)
  local raw = call('HGET', key, field)
  local sums = raw and cmsgpack.unpack(raw) or {}
  for name, number in pairs(measures) do sums[name] = (sums[name] or 0) + number end
  call('HSET', key, field, cmsgpack.pack(sums))
end

for i = 3, tasks_end, 2 do
  local measures = cjson.decode(ARGV[i + 1])
  add(p .. 'minute:' .. at, ARGV[i], measures)
  add(p .. 'totals', ARGV[i], measures)
end
for i = tasks_end + 1, #ARGV, 2 do add(p .. 'quarter:' .. quarter, ARGV[i], cjson.decode(ARGV[i + 1])) end
call('ZADD', p .. 'minutes', at, at)
call('ZADD', p .. 'quarters', quarter, quarter)
return 1
