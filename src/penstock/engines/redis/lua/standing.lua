#!lua flags=no-writes
-- How many stand before a job in its lane. Those past their expiry do not count; so many of them are looked at, and no more.
-- KEYS 1 prefix
-- ARGV 1 now or ''; 2 id
-- Returns how many, or nothing where it does not wait
--@ _keys
--@ _base
--@ _run
--@ _lines
--@ _standing
local now, base, state, run = time_of(ARGV[1]), standing(ARGV[2])
if not base or state ~= 'w' then return nil end
local lane = p .. 'lane:' .. lane_of(base, run)
local place = call('ZRANK', lane, ARGV[2])
if not place then return nil end
local ahead = place
for _, id in ipairs(call('ZRANGEBYSCORE', p .. 'expiring', '-inf', score(now), 'LIMIT', 0, 1000)) do
  local other = call('ZRANK', lane, id)
  if other and other < place then ahead = ahead - 1 end
end
return ahead
