#!lua flags=no-writes
-- Every lane beside the open ones that holds jobs.
-- KEYS 1 prefix
-- ARGV 1 now or ''
-- Returns lane, why, and how many, in turn
--@ _keys
--@ _parked
