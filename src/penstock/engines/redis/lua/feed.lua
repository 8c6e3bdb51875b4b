#!lua flags=no-writes
-- A piece of the feed.
-- KEYS 1 prefix
-- ARGV 1 now or ''; 2 number after which to look, or '' for nothing of it; 3 how many at most
-- Returns where the feed began, its last number, the last that was dropped; then number, when (us) and event, in turn
--@ _keys
local state = call('HMGET', p .. 'feeding', 'first', 'last', 'dropped')
local answer = { state[1] or '0', state[2] or '0', state[3] or '0' }
if ARGV[2] == '' or tonumber(ARGV[3]) < 1 then return answer end
for _, entry in ipairs(call('XRANGE', p .. 'feed', score(tonumber(ARGV[2]) + 1) .. '-0', '+', 'COUNT', ARGV[3])) do
  local n = #answer
  answer[n + 1], answer[n + 2], answer[n + 3] = entry[1]:match('^%d+'), entry[2][2], entry[2][4]
end
return answer
