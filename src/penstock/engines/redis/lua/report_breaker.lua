#!lua flags=allow-oom
-- Say how that ended which was asked for under a breaker.
-- KEYS 1 prefix
-- ARGV 1 now or ''; 2 breaker; 3 permit; 4 healthy: '1', '0' or ''
--@ _keys
--@ _base
--@ _tally
--@ _limited
local healthy
if ARGV[4] ~= '' then healthy = ARGV[4] == '1' end
limits().report(ARGV[2], ARGV[3], healthy, time_of(ARGV[1]))
write_all()
return 1
