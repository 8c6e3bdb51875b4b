#!lua flags=no-writes
-- One job, finished or not.
-- KEYS 1 prefix
-- ARGV 1 now or ''; 2 id
-- Returns its base, its run or '', its state (a letter), and what there is more of it (see `told_of` in _more.lua);
--      nothing for no such job
--@ _keys
--@ _base
--@ _more
--@ _lines
local base, run = call('HGET', JOBS, ARGV[2]), call('HGET', RUNS, ARGV[2])
if not base then return false end
return { base, run or '', state_of(ARGV[2], run), told_of(ARGV[2], base) }
