#!lua flags=allow-oom
-- Keep the result of a step, where the run is still the caller's.
-- KEYS 1 prefix
-- ARGV 1 now or ''; 2 id; 3 token; 4 name; 5 value (JSON)
-- Returns 1, or 0 where the job is not the caller's
--@ _keys
--@ _base
--@ _more
local run, steps = call('HGET', RUNS, ARGV[2]), steps_of(ARGV[2])
if not run or sub(run, 1, 1) ~= 'a' or sub(run, 49, 64) ~= ARGV[3] then return 0 end
local before = call('HGET', steps, ARGV[4])
local place = before and sub(before, 1, 8) or struct.pack('<d', call('HLEN', steps))
call('HSET', steps, ARGV[4], place .. ARGV[5])
flag(ARGV[2])
return 1
