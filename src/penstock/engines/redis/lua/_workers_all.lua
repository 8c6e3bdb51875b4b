-- Of `workers.lua`.
local answer = { string.format('%.0f', time_of(ARGV[1])) }
local workers = call('ZRANGE', p .. 'workers', 0, -1, 'WITHSCORES')
for i = 1, #workers, 2 do
  local id = workers[i]
  for _, value in ipairs({
    id, workers[i + 1], call('HGET', p .. 'worker', id) or '', call('SCARD', p .. 'held:' .. id),
    call('HGET', p .. 'ordered', id) or '', call('HGET', p .. 'memory', id) or '',
  }) do answer[#answer + 1] = value end
end
return answer
