#!lua flags=no-writes
-- Every lane beside the open ones that holds jobs.
-- KEYS 1 prefix
-- ARGV 1 now or ''
-- Returns lane, why, and how many, in turn
--@ _keys
local answer, lanes = {}, call('HGETALL', p .. 'lanes')
for i = 1, #lanes, 2 do
  local size = call('ZCARD', p .. 'lane:' .. lanes[i])
  if size > 0 then answer[#answer + 1], answer[#answer + 2], answer[#answer + 3] = lanes[i], lanes[i + 1], size end
end
return answer
