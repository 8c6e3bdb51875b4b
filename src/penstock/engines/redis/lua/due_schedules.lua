#!lua flags=no-writes
-- Schedules whose next tick is due, the longest due first.
-- KEYS 1 prefix
-- ARGV 1 now or ''; 2 how many at most
-- Returns now (us); microseconds until the next of the others is due, or ''; then id and schedule, in turn
--@ _keys
local now = time_of(ARGV[1])
local ids = call('ZRANGEBYSCORE', p .. 'due', '-inf', score(now), 'LIMIT', 0, ARGV[2])
local next = call('ZRANGE', p .. 'due', #ids, #ids, 'WITHSCORES')[2]
local answer = { score(now), next and score(math.max(0, tonumber(next) - now)) or '' }
for i, schedule in ipairs(values(p .. 'schedules', ids)) do
  if schedule then answer[#answer + 1], answer[#answer + 2] = ids[i], schedule end
end
return answer
