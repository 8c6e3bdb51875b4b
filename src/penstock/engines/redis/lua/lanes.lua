#!lua flags=no-writes
-- One look at the lanes of a group that hold jobs, or whose limits are not worked off: so many are looked at, and no more.
-- KEYS 1 prefix
-- ARGV 1 now or ''; 2 group; 3 lane after which to look, or ''
-- Returns lane after which to look next, or '' where nothing is left; then lane, how many wait, how many run, and
--      microseconds until it may start something, where only time is needed, or '', for each
--@ _keys
--@ _base
--@ _tally
--@ _limited
local SOME = 500
local now, answer = time_of(ARGV[1]), { '' }
local after = ARGV[3] == '' and '-' or '(' .. ARGV[3]
local names = call('ZRANGEBYLEX', p .. 'lanes:' .. ARGV[2], after, '+', 'LIMIT', 0, SOME)

-- By all that holds it: where a run must end first, nobody knows.
local function opens(lane)
  local longest
  local function hold(left, wait)
    if left == 0 then longest = math.max(longest or 0, wait or math.huge) end
  end
  hold(limits().gate(limits().own_limit(lane), lane, now))
  hold(limits().group_gate(lane.group, now))
  hold(limits().group_gate(limits().group_at(lane.queue), now))
  if longest == math.huge then return '' end
  return longest and score(longest) or ''
end

for _, name in ipairs(names) do
  local lane = limits().lane_at(name)
  local waiting = call('ZCARD', lane.key)
  if waiting > 0 or lane.active > 0 or lane.spent > now or lane.cooled > now then
    for _, value in ipairs({ name, waiting, lane.active, opens(lane) }) do answer[#answer + 1] = value end
  end
end
answer[1] = #names == SOME and names[SOME] or ''
return answer
