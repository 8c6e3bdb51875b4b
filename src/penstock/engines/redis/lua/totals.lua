#!lua flags=no-writes
-- All that was ever counted.
-- KEYS 1 prefix
-- ARGV 1 now or ''
-- Returns "queue:task" and measures, packed, in turn
--@ _keys
return call('HGETALL', p .. 'totals')
