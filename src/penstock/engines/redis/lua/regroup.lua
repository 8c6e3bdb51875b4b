#!lua flags=allow-oom
-- Lanes of a group take their places anew, under limits that were declared since: so many, and no more.
-- KEYS 1 prefix
-- ARGV 1 now or ''; 2 group; 3 lane after which to go on, or ''
-- Returns lane after which to go on, or '' where that was all
--@ _keys
--@ _base
--@ _tally
--@ _limited
local SOME = 500
time_of(ARGV[1])
local after = ARGV[3] == '' and '-' or '(' .. ARGV[3]
local names = call('ZRANGEBYLEX', p .. 'lanes:' .. ARGV[2], after, '+', 'LIMIT', 0, SOME)
for _, lane in ipairs(names) do limits().touch(lane) end
ring(ARGV[2]:match('^[^>]*'))
write_all()
return #names == SOME and names[SOME] or ''
