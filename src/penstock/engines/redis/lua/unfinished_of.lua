#!lua flags=no-writes
-- How many unfinished jobs an owner has.
-- KEYS 1 prefix
-- ARGV 1 now or ''; 2 owner
-- Returns how many
--@ _keys
return tonumber(call('HGET', p .. 'owing', ARGV[2]) or 0)
