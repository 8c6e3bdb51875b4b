#!lua flags=allow-oom
-- Keep an order for a worker, unless its time is over.
-- KEYS 1 prefix
-- ARGV 1 now or ''; 2 worker; 3 the order, '' takes it back
-- Returns 1 where it is alive
--@ _keys
local till = call('ZSCORE', p .. 'workers', ARGV[2])
if not till or tonumber(till) <= time_of(ARGV[1]) then return 0 end
if ARGV[3] == '' then
  call('HDEL', p .. 'ordered', ARGV[2])
else
  call('HSET', p .. 'ordered', ARGV[2], ARGV[3])
end
return 1
