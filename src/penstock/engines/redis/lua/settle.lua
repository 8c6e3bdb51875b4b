#!lua flags=allow-oom
-- Write how runs ended, where id, token and state match; then claim the next.
-- KEYS 1 prefix
-- ARGV 1 now or ''; 2 '1' where an earlier call with these tokens may have succeeded; plain completions, see
--      _complete.lua, 3 that are kept and 4 that are not, and 5 what these leave should they be kept all the same:
--      uint32, and sections as of other ends; 6 how many other ends; 7… those, see `read_end` in _ending.lua; then the
--      want, see `claim` in _claim.lua, or nothing
-- Returns place (from 1, in the order above) of each that was refused; then what `claim` answers, where
--      something was wanted
--@ _keys
--@ _base
--@ _run
--@ _tally
--@ _limited
--@ _long_way
--@ _complete
--@ _first_run
--@ _claim
local now, want_at = time_of(ARGV[1]), 7 + tonumber(ARGV[6])
local function follow() end
--@ _settle
