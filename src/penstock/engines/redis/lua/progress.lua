#!lua flags=allow-oom
-- Store how far a run is, where it is still the caller's.
-- KEYS 1 prefix
-- ARGV 1 now or ''; 2 id; 3 token; 4 progress (JSON)
-- Returns 1, or 0 where the job is not the caller's
--@ _keys
--@ _run
local raw = call('HGET', RUNS, ARGV[2])
local run = raw and read_run(raw)
if not run or run.state ~= 'a' or run.token ~= ARGV[3] then return 0 end
run.texts.p = ARGV[4]
call('HSET', RUNS, ARGV[2], write_run(run))
return 1
