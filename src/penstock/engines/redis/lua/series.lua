#!lua flags=no-writes
-- One look at the minutes, or the quarters of an hour, of a time: so many are looked at, and no more.
-- KEYS 1 prefix
-- ARGV 1 now or ''; 2 from and 3 before which time (us); 4 queue or ''; 5 "minute" or "quarter"
-- Returns where to look next (us), or '' where nothing is left; then when it began (us), "queue:task", of a quarter "queue:", and
-- measures, packed, in turn
--@ _keys
local SOME = 60
local answer, of = { '' }, ARGV[4] ~= '' and ARGV[4] .. ':' or ''
local found = call('ZRANGEBYSCORE', p .. ARGV[5] .. 's', ARGV[2], '(' .. ARGV[3], 'LIMIT', 0, SOME)
for _, at in ipairs(found) do
  local counted = call('HGETALL', p .. ARGV[5] .. ':' .. at)
  for i = 1, #counted, 2 do
    if sub(counted[i], 1, #of) == of then
      answer[#answer + 1], answer[#answer + 2], answer[#answer + 3] = at, counted[i], counted[i + 1]
    end
  end
end
if #found == SOME then answer[1] = score(tonumber(found[SOME]) + 1) end
return answer
