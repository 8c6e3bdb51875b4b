#!lua flags=no-writes
-- The latest ticks of a schedule, newest first.
-- KEYS 1 prefix
-- ARGV 1 now or ''; 2 schedule; 3 how many at most, one or more
-- Returns each, see _schedules.lua
--@ _keys
return call('LRANGE', p .. 'ticks:' .. ARGV[2], 0, ARGV[3] - 1)
