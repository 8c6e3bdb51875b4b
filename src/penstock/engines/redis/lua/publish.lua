#!lua
-- Tell those who watch. A number is the time, or one more than the last: so neither a server that was emptied, nor one
-- that has lost its latest writes, gives a number twice. `feeding` has where the feed began, and the last that was dropped.
-- KEYS 1 prefix
-- ARGV 1 now or ''; 2 how many are kept; then the events
--@ _keys
local FEED, FEEDING = p .. 'feed', p .. 'feeding'
local now, kept = time_of(ARGV[1]), tonumber(ARGV[2])
local last = tonumber(call('HGET', FEEDING, 'last'))
if not last then
  last = now - 1
  call('HSET', FEEDING, 'first', score(last), 'dropped', score(last))
end
last = math.max(last, now - 1)
for i = 3, #ARGV do
  last = last + 1
  call('XADD', FEED, score(last) .. '-0', 'a', score(now), 'e', ARGV[i])
end
call('HSET', FEEDING, 'last', score(last))
local over = call('XLEN', FEED) - kept
if over > 0 then
  local gone = call('XRANGE', FEED, '-', '+', 'COUNT', over)
  call('HSET', FEEDING, 'dropped', gone[#gone][1]:match('^%d+'))
  call('XTRIM', FEED, 'MAXLEN', kept)
end
return 1
