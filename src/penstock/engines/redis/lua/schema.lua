#!lua flags=no-writes
-- KEYS 1 prefix
-- ARGV 1 now or ''
-- Returns the names of the migrations applied
--@ _keys
return call('SMEMBERS', p .. 'schema')
