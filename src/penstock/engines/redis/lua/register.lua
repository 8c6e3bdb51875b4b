#!lua flags=allow-oom
-- Announce a worker.
-- KEYS 1 prefix
-- ARGV 1 now or ''; 2 worker; 3 how long it lives (us); 4 when it started (us) or ''; 5 about it (JSON)
--@ _keys
local now = time_of(ARGV[1])
local started = ARGV[4] == '' and now or tonumber(ARGV[4])
call('ZADD', p .. 'workers', 'NX', now + tonumber(ARGV[3]), ARGV[2])
call('HSETNX', p .. 'worker', ARGV[2], struct.pack('<d', started) .. ARGV[5])
return 1
