#!lua flags=no-writes
-- Every schedule.
-- KEYS 1 prefix
-- ARGV 1 now or ''
-- Returns id and schedule, see _schedules.lua, in turn
--@ _keys
return call('HGETALL', p .. 'schedules')
