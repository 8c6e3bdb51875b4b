#!lua flags=no-writes
-- The limits that a lane is under.
-- KEYS 1 prefix
-- ARGV 1 now or ''; 2 how many of the names are groups; 3… names: of groups, then of the lane where it has a key
-- Returns as declared (see _groups.lua) or '', how many run, microseconds for which it is cooled or '', and until its
--      rate lets something start or '', for each
--@ _keys
--@ _base
--@ _tally
--@ _limited
local now, groups, answer, DECLARED = time_of(ARGV[1]), tonumber(ARGV[2]), {}, p .. 'groups'
for i = 3, #ARGV do
  local is_group = i - 2 <= groups
  local found = is_group and limits().group_at(ARGV[i]) or limits().lane_at(ARGV[i])
  local limit = is_group and found.limit or limits().own_limit(found)
  local left, wait = limits().gate({ rate = limit.rate, burst = limit.burst }, { spent = found.spent, cooled = 0 }, now)
  for _, value in ipairs({
    is_group and call('HGET', DECLARED, ARGV[i]) or '', found.active,
    found.cooled > now and score(found.cooled - now) or '', left == 0 and score(wait) or '',
  }) do answer[#answer + 1] = value end
end
return answer
