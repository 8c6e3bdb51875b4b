#!lua flags=allow-oom
-- Take the waiting jobs first in rank.
-- KEYS 1 prefix
-- ARGV 1 now or ''; 2… the want, see `claim` in _claim.lua
-- Returns as `claim` there
--@ _first_run
--@ _lone
--@ _keys
--@ _base
--@ _run
--@ _tally
--@ _limited
--@ _long_way
--@ _claim
local answer = claim(time_of(ARGV[1]), 2)
write_all()
return answer
