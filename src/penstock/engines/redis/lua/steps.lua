#!lua flags=no-writes
-- The results of a job's steps.
-- KEYS 1 prefix
-- ARGV 1 now or ''; 2 id
-- Returns name, and place (double) and value, in turn; in no order
--@ _keys
--@ _more
return call('HGETALL', steps_of(ARGV[2]))
