#!lua flags=allow-oom
-- Write how runs ended, where id, token and state match; then claim the next.
-- KEYS 1 prefix
-- ARGV 1 now or ''; 2 '1' where an earlier call with these tokens may have succeeded; plain completions, see
--      _complete.lua, 3 that are kept and 4 that are not; 5 how many other ends; 6… those, see `read_end` in
--      _ending.lua; then the want, see `claim` in _claim.lua, or nothing
-- Returns place (from 1, in the order above) of each that was refused; then what `claim` answers, where
--      something was wanted
--@ _keys
--@ _base
--@ _run
--@ _tally
--@ _more
--@ _limited
--@ _lines
--@ _flows
--@ _holding
--@ _finish
--@ _ties
--@ _bury
--@ _ending
--@ _complete
--@ _claim
local now, want_at = time_of(ARGV[1]), 6 + tonumber(ARGV[5])
local function follow() end
--@ _settle
