#!lua flags=no-writes
-- What there is to do for those who look after the jobs.
-- KEYS 1 prefix
-- ARGV 1 now or ''
-- Returns microseconds until the next delayed job falls due, or ''; until the next tick of a schedule is due, or ''; '1' where a
-- worker is past its time, or '0'
--@ _keys
local now = time_of(ARGV[1])

local function until_first(key)
  local at = call('ZRANGE', key, 0, 0, 'WITHSCORES')[2]
  return at and score(math.max(0, tonumber(at) - now)) or ''
end

local lost = call('ZCOUNT', p .. 'workers', '-inf', score(now)) > 0
return { until_first(p .. 'delayed'), until_first(p .. 'due'), lost and '1' or '0' }
