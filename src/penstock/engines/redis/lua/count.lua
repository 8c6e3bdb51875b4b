#!lua
-- Add what was counted to the minute that it is, and to the totals. Measures are written as "name=number;" one after the
-- other: a field for each would take ten times the memory.
-- KEYS 1 prefix
-- ARGV 1 now or ''; then for each: "queue:task", and measures
--@ _keys
local MINUTE = 60000000
local now = time_of(ARGV[1])
local at = score(now - now % MINUTE)

local function read(into, text)
  for name, number in text:gmatch('([^=]+)=([^;]+);') do into[name] = (into[name] or 0) + tonumber(number) end
end

local function add(key, field, measures)
  local sums, words = {}, {}
  read(sums, call('HGET', key, field) or '')
  read(sums, measures)
  for name, number in pairs(sums) do words[#words + 1] = string.format('%s=%.17g;', name, number) end
  call('HSET', key, field, table.concat(words))
end

for i = 2, #ARGV, 2 do
  add(p .. 'minute:' .. at, ARGV[i], ARGV[i + 1])
  add(p .. 'totals', ARGV[i], ARGV[i + 1])
end
call('ZADD', p .. 'minutes', at, at)
return 1
