-- Of `parked.lua`.
local answer, lanes = {}, call('HGETALL', p .. 'lanes')
for i = 1, #lanes, 2 do
  local size = call('ZCARD', p .. 'lane:' .. lanes[i])
  if size > 0 then answer[#answer + 1], answer[#answer + 2], answer[#answer + 3] = lanes[i], lanes[i + 1], size end
end
return answer
