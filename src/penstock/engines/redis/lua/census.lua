#!lua flags=no-writes
-- Whether what is counted is there: keys may have been evicted or deleted.
-- KEYS 1 prefix
-- ARGV 1 now or ''
-- Returns how many jobs are counted and how many have a record; delayed: counted and there; active: counted and held
--@ _keys
local counts, sums = call('HGETALL', p .. 'counts'), { delayed = 0, active = 0, all = 0 }
for i = 1, #counts, 2 do
  local state = counts[i]:match(':(%a+)$')
  sums[state] = (sums[state] or 0) + counts[i + 1]
  if state ~= 'dead' then sums.all = sums.all + counts[i + 1] end
end
local held = 0
for _, worker in ipairs(call('ZRANGE', p .. 'workers', 0, -1)) do
  held = held + call('SCARD', p .. 'held:' .. worker)
end
return { sums.all, call('HLEN', JOBS), sums.delayed, call('ZCARD', p .. 'delayed'), sums.active, held }
