-- Of `breakers.lua`.
local now, answer = time_of(ARGV[1]), {}
for _, name in ipairs(call('HKEYS', p .. 'breakers')) do
  local b = limits().look_at(name, now)
  local after = limits().retry_in(b, now)
  for _, value in ipairs({
    name, b.declared, b.circuit, b.failures, b.runs, score(b.since), #b.probes, after and score(after) or '',
  }) do answer[#answer + 1] = value end
end
return answer
