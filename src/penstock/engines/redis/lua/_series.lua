-- Of `series.lua`.
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
