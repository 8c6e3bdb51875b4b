#!lua flags=no-writes
-- Every breaker, as it stands now.
-- KEYS 1 prefix
-- ARGV 1 now or ''
-- Returns name, as declared (see _breakers.lua), circuit (a letter), failures, runs, since (us, 0: ever), how many probe,
--      microseconds until it is tried or '', for each
--@ _keys
--@ _base
--@ _tally
--@ _limited
local now, answer = time_of(ARGV[1]), {}
for _, name in ipairs(call('HKEYS', p .. 'breakers')) do
  local b = limits().look_at(name, now)
  local after = limits().retry_in(b, now)
  for _, value in ipairs({
    name, b.declared, b.circuit, b.failures, b.runs, score(b.since), #b.probes, after and score(after) or '',
  }) do answer[#answer + 1] = value end
end
return answer
