#!lua
-- Add what was counted to the minute that it is, and to the totals. The measures of a task are one packed map: a field for
-- each would take several times the memory.
-- KEYS 1 prefix
-- ARGV 1 now or ''; then for each: "queue:task", and measures as JSON
--@ _keys
local MINUTE = 60000000
local now = time_of(ARGV[1])
local at = score(now - now % MINUTE)

local function add(key, field, measures)
  local raw = call('HGET', key, field)
  local sums = raw and cmsgpack.unpack(raw) or {}
  for name, number in pairs(measures) do sums[name] = (sums[name] or 0) + number end
  call('HSET', key, field, cmsgpack.pack(sums))
end

for i = 2, #ARGV, 2 do
  local measures = cjson.decode(ARGV[i + 1])
  add(p .. 'minute:' .. at, ARGV[i], measures)
  add(p .. 'totals', ARGV[i], measures)
end
call('ZADD', p .. 'minutes', at, at)
return 1
