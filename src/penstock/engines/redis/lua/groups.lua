#!lua flags=no-writes
-- Every declared group.
-- KEYS 1 prefix
-- ARGV 1 now or ''
-- Returns name, as declared (see _groups.lua), how many run, microseconds for which it is cooled or '', for each
--@ _keys
--@ _base
--@ _tally
--@ _limited
local now, answer, DECLARED = time_of(ARGV[1]), {}, p .. 'groups'
for _, name in ipairs(call('HKEYS', DECLARED)) do
  local group = limits().group_at(name)
  for _, value in ipairs({
    name, call('HGET', DECLARED, name), group.active, group.cooled > now and score(group.cooled - now) or '',
  }) do answer[#answer + 1] = value end
end
return answer
