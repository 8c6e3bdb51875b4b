#!lua flags=no-writes
-- One job, finished or not.
-- KEYS 1 prefix
-- ARGV 1 now or ''; 2 id
-- Returns its base, its run or '', 1 where it is delayed; nothing for no such job
--@ _keys
local base = call('HGET', JOBS, ARGV[2])
if not base then return false end
return { base, call('HGET', RUNS, ARGV[2]) or '', call('ZSCORE', p .. 'delayed', ARGV[2]) and 1 or 0 }
