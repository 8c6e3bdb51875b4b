#!lua flags=allow-oom
-- Stop or resume claims from a queue.
-- KEYS 1 prefix
-- ARGV 1 now or ''; 2 queue; 3 '1' paused or '0'
--@ _keys
--@ _tally
call('HSET', p .. 'queues', ARGV[2], ARGV[3])
if ARGV[3] == '0' then ring(ARGV[2]) end
write_all()
return 1
