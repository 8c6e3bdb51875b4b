#!lua flags=allow-oom
-- Remove schedules and the records of their ticks.
-- KEYS 1 prefix
-- ARGV 1 now or ''; 2… ids
-- Returns how many there were
--@ _keys
local removed = 0
for i = 2, #ARGV do
  removed = removed + call('HDEL', p .. 'schedules', ARGV[i])
  call('ZREM', p .. 'due', ARGV[i])
  call('DEL', p .. 'ticks:' .. ARGV[i])
end
return removed
