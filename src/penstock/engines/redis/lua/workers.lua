#!lua flags=no-writes
-- Every registered worker.
-- KEYS 1 prefix
-- ARGV 1 now or ''
-- Returns now (us); then for each: id, when its time is over (us), when it started (double) and JSON, how many it
-- holds, what it was ordered to do or '', how many bytes it has or ''
--@ _keys
--@ _workers_all
